"""Models of Hugging Face in a folder, with their tokenizers: text in, names of tokens out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import rote
from rote.cli import run_command
from rote.errors import UsageError
from rote.explorer.reading import Reader
from rote.models.pretrained import load_pretrained
from rote.models.subwords import Subwords, subwords_of
from rote.models.traced.own_forward import OwnForward

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tokenizers
    import transformers

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ["<unk>", "Ġthe", "Ġunited", "Ġst", "ates", "of", "Ġof", "the"]


def tokenizer() -> Any:
    """Words with the space before them, of which some are taken apart."""
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {name: number for number, name in enumerate([*NAMES, *"Ġabcdefghijklmnopqrstuvwxyz"])}, []
        )
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mamba")
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, state_size=4)
    transformers.MambaForCausalLM(config).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def test_subwords_show_their_spaces_and_know_where_words_begin() -> None:
    found = subwords_of(tokenizer())
    assert found[:5] == ("<unk>", " the", " united", " st", "ates")
    assert found.begins[:5] == (False, True, True, True, False)
    assert len(found.sized(40)) == 40
    assert found.sized(40)[-1] == "<unused 39>"
    with pytest.raises(UsageError, match="only 3 rows"):
        found.sized(3)
    parts = Subwords(["play", "##ing", "[UNK]"], lambda text: [0, 1])
    assert parts == ("play", "ing", "[UNK]")
    assert parts.begins == (True, False, True)


def trained(model: Any, trainer: Any, split: Any, **options: Any) -> Any:
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = split
    made.train_from_iterator([READ, "a café, naïve"] * 3, trainer(special_tokens=["<unk>"], **options))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")


READ = "the café is naïve"
KINDS: dict[str, tuple[Any, tuple[str, ...], tuple[int, ...]]] = {
    "bytes": (
        lambda: trained(
            tokenizers.models.BPE(), tokenizers.trainers.BpeTrainer, tokenizers.pre_tokenizers.ByteLevel(False)
        ),
        ("the", " café", " is", " naïve"),
        (0, 1, 2, 3),
    ),
    "words": (
        lambda: trained(
            tokenizers.models.WordLevel(unk_token="<unk>"), tokenizers.trainers.WordLevelTrainer,
            tokenizers.pre_tokenizers.Whitespace(),
        ),
        ("the", "café", "is", "naïve"),
        (0, 1, 2, 3),
    ),
    "characters": (
        lambda: trained(
            tokenizers.models.WordLevel(unk_token="<unk>"), tokenizers.trainers.WordLevelTrainer,
            tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated"),
        ),
        tuple(READ),
        (0,) * 3 + (1,) * 5 + (2,) * 3 + (3,) * 6,
    ),
    "pieces": (
        lambda: trained(
            tokenizers.models.Unigram(), tokenizers.trainers.UnigramTrainer, tokenizers.pre_tokenizers.Metaspace(),
            vocab_size=18, unk_token="<unk>",
        ),
        (),
        (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_vocabulary_has_its_own_letters_and_words(kind: str) -> None:
    make, symbols, words = KINDS[kind]
    vocabulary = subwords_of(make())
    read = vocabulary.encode(READ)
    named = tuple(vocabulary[number] for number in read)
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=len(vocabulary), hidden_size=8, num_hidden_layers=1, state_size=2)
    reading = Reader.of(rote.adapt(transformers.MambaForCausalLM(config)), vocabulary).read(READ, 50)
    assert reading.symbols == named
    assert "".join(named).replace(" ", "") == READ.replace(" ", "")
    if symbols:
        assert (named, reading.words) == (symbols, words)
    assert len(set(reading.words)) == 4


def test_a_part_of_a_character_is_named_by_its_bytes() -> None:
    found = Subwords(["Ġthe", "æĹ", "<|end|>", "日本"] + ["Ġa"] * 60, lambda text: [0])
    assert found[:4] == (" the", "\\xe6\\x97", "<|end|>", "日本")
    assert Subwords(["Ġunju", "Ċ", "ż", "a b"], lambda text: [0]) == ("Ġunju", "Ċ", "ż", "a b")  # letters of Maltese


@pytest.mark.parametrize("kind", ["GPT2ForSequenceClassification", "BertForMaskedLM"])
def test_a_model_of_another_task_is_not_taken_for_one_of_language(tmp_path: Path, kind: str) -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = getattr(transformers, f"{kind.split('For')[0]}Config")(**sizes)
    getattr(transformers, kind)(config).save_pretrained(tmp_path)
    with pytest.raises(UsageError, match=rf"is a {kind}, which does not say the next token. Open it yourself: rote.ad"):
        load_pretrained(tmp_path)


def test_a_text_is_read_as_the_tokenizer_reads_it(folder: Path) -> None:
    found = load_pretrained(folder)
    assert found.vocabulary is not None
    reading = Reader.of(found.model, found.vocabulary).read("ab c", 50)
    assert reading.symbols == ("a", "b", " ", "c")
    assert reading.words == (0, 0, 1, 1)
    assert reading.targets == (*reading.tokens[0, 1:].tolist(), None)
    expected = transformers.MambaForCausalLM.from_pretrained(folder).eval()(reading.tokens, use_cache=False).logits
    torch.testing.assert_close(rote.trace(found.model, reading.tokens).logits, expected.detach(), atol=1e-4, rtol=1e-4)


def test_the_command_shows_what_tokens_a_prediction_rests_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["connectivity", "ab cd", "--model", str(folder), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["symbols"] == ["a", "b", " ", "c", "d"]
    assert len(found["values"]) == 5
    assert max(found["values"]) > 0


def test_the_explorer_takes_a_model_with_its_tokenizer_and_a_folder(folder: Path) -> None:
    model = rote.adapt(transformers.MambaForCausalLM.from_pretrained(folder))
    with rote.explore(model, tokenizer()) as explorer:
        assert explorer.workbench.catalog.open("yours").inputs[1] == " the"
        shown = explorer.inline("connectivity", text="ab cd", models=["yours"], at=3)
        assert "<iframe" in shown._repr_html_()
    with rote.explore(folder) as explorer:
        assert explorer.workbench.catalog.listing()[0].title == folder.name


def test_what_is_not_whole_has_connectivity_but_no_explorer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.MistralForCausalLM(
        transformers.MistralConfig(vocab_size=40, **sizes, num_key_value_heads=1)
    ).save_pretrained(tmp_path)
    assert isinstance(load_pretrained(tmp_path).model, OwnForward)
    with pytest.raises(UsageError, match="There is no tokenizer"):
        rote.explore(tmp_path)
    assert run_command(["connectivity", "ab cd", "--model", str(tmp_path), "--json"]) == 2
    assert "There is no tokenizer in" in capsys.readouterr().err
    tokenizer().save_pretrained(tmp_path)
    assert run_command(["connectivity", "ab cd", "--model", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)[0]["values"]) == 5
    with pytest.raises(UsageError, match="a model that can be taken apart; this was not, because of a reshape"):
        rote.explore(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: (path / "config.json").unlink(), "There is no model in"),
        (lambda path: (path / "config.json").write_text("{"), "'config.json' in .* cannot be read"),
        (lambda path: (path / "config.json").write_text('{"auto_map": {}}'), "needs code of its own"),
        (lambda path: (path / "config.json").write_text('{"quantization_config": {}}'), "is quantized"),
        (lambda path: (path / "model.safetensors").rename(path / "pytorch_model.bin"), "no weights as safetensors"),
        (lambda path: (path / "config.json").write_text('{"model_type": "nothing"}'), "cannot be opened"),
    ],
)
def test_folders_that_cannot_be_opened_are_told_in_one_line(
    folder: Path, tmp_path: Path, change: Any, told: str
) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    change(tmp_path)
    with pytest.raises(UsageError, match=told) as caught:
        load_pretrained(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.fixture
def sharded(folder: Path, tmp_path: Path) -> Path:
    transformers.MambaForCausalLM.from_pretrained(folder).save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    return tmp_path


def test_weights_in_several_files_are_those_in_one(folder: Path, sharded: Path) -> None:
    tokens = torch.tensor([[1, 5, 9, 30]])
    expected, found = (rote.trace(load_pretrained(path).model, tokens).logits for path in (folder, sharded))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


def _edit(path: Path, change: Any) -> None:
    index = path / "model.safetensors.index.json"
    known = json.loads(index.read_text())
    change(known)
    index.write_text(json.dumps(known))


def _first(path: Path) -> Path:
    return min(path.glob("model-*.safetensors"))


def _without_a_weight(path: Path) -> None:
    weights = load_file(_first(path))
    name = next(name for name in weights if "embeddings" in name)
    save_file({other: weight for other, weight in weights.items() if other != name}, _first(path), {"format": "pt"})
    _edit(path, lambda known: known["weight_map"].pop(name))


def _of_another_shape(path: Path) -> None:
    weights = load_file(_first(path))
    name = next(iter(weights))
    save_file(weights | {name: torch.zeros(3)}, _first(path), {"format": "pt"})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: _first(path).unlink(), "are in [0-9]+ files, and 'model-00001.* is missing"),
        (lambda path: (path / "model.safetensors.index.json").write_text("[]"), "index.json' in .* cannot be read"),
        (lambda path: _edit(path, lambda known: known["weight_map"].update(x="../x.safetensors")), "names '../x.saf"),
        (lambda path: _edit(path, lambda known: known["weight_map"].update(x="x.bin")), "names 'x.bin', which is no"),
        (lambda path: _first(path).write_bytes(b"broken"), "cannot be opened"),
        (_without_a_weight, "is not whole: '.*' is not in its files"),
        (_of_another_shape, "cannot be opened|has another shape in its files"),
    ],
)
def test_several_files_that_are_not_whole_are_told_in_one_line(sharded: Path, change: Any, told: str) -> None:
    change(sharded)
    with pytest.raises(UsageError, match=told) as caught:
        load_pretrained(sharded)
    assert "\n" not in str(caught.value)
