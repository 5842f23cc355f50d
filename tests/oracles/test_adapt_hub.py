"""Hugging Face's models: whole where their layers are known, through their own forward where not."""

from __future__ import annotations

import hub_models
import pytest
import torch
from hub_models import DRAWS, Lifted, drawn, model_of, tokens, transformers
from torch import Tensor

import rote
from rote.errors import UsageError
from rote.models import right_padded
from rote.models.traced.build import TracedModel
from rote.models.traced.own_forward import OwnForward
from rote.testing import untouched

pytestmark = pytest.mark.filterwarnings("ignore")
SMALL = {"hidden_size": 16, "num_hidden_layers": 2}
OTHERS = {
    "Mamba2": {**SMALL, "num_heads": 4, "head_dim": 8, "n_groups": 1, "time_step_limit": (0.1, 1.0)},
    "Qwen3Next": {
        **SMALL, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 4,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
    },
    "Llama": {
        **SMALL, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
        "max_position_embeddings": 8,
        "rope_parameters": {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 2.0},
    },
    "Mistral": {**SMALL, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1},
}  # fmt: skip
NO_MASK = ("Rwkv", "xLSTM", "RecurrentGemma")  # they read padding at the beginning as tokens


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("number", range(3))
def test_known_models_are_whole_and_give_the_same_logits(kind: str, number: int) -> None:
    model = drawn(kind, number)
    with untouched(model):
        adapted = rote.adapt(model, example=tokens())
    assert isinstance(adapted, TracedModel), adapted
    for time in (1, 2, 11, 19):
        with torch.no_grad():
            expected = model(tokens(time), use_cache=False).logits
            torch.testing.assert_close(adapted.eval()(tokens(time)), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("number", range(2))
def test_with_their_casts_lifted_logits_gradients_and_parts_are_exact(kind: str, number: int) -> None:
    model, given = drawn(kind, number).double(), tokens(5)
    with Lifted():
        adapted = rote.adapt(model, example=given)
        with torch.no_grad():
            expected = model(given, use_cache=False).logits
        through = rote.connectivity(model, given, causal=True).values
    torch.testing.assert_close(rote.trace(adapted, given).logits, expected, atol=1e-9, rtol=1e-9)
    reach = rote.connectivity(adapted, given)
    torch.testing.assert_close(reach.values, through, atol=1e-8, rtol=1e-8)
    parts = rote.decompose(adapted, given, spans=[(1, 2), (0, 4)], gates="whole", bias="in_span")
    assert float(parts.error.max()) < 1e-9
    assert not parts.irrelevant[:, 1].any()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", DRAWS)
def test_padding_on_either_side_changes_nothing_at_the_tokens(kind: str, side: str) -> None:
    model, lengths = drawn(kind, 1), [7, 3, 5]
    padded, mask = torch.zeros(3, 7, dtype=torch.int64), torch.zeros(3, 7, dtype=torch.int64)
    for row, length in enumerate(lengths):
        own = slice(7 - length, 7) if side == "left" else slice(0, length)
        padded[row, own], mask[row, own] = tokens()[row, :length], 1
    adapted = rote.adapt(model, example={"input_ids": padded, "attention_mask": mask})
    moved, counted = right_padded(padded, mask)
    assert counted.tolist() == lengths
    ours = rote.trace(adapted, moved, lengths=counted).logits
    for row, length in enumerate(lengths):
        with torch.no_grad():
            alone = model(tokens()[row : row + 1, :length], use_cache=False).logits[0]
        torch.testing.assert_close(ours[row, :length], alone, atol=1e-4, rtol=1e-4)
    if kind not in NO_MASK:
        theirs = _masked(model, padded, mask)
        for row, length in enumerate(lengths):
            torch.testing.assert_close(ours[row, :length], theirs[row, mask[row] == 1], atol=1e-4, rtol=1e-4)


def _masked(model: torch.nn.Module, padded: Tensor, mask: Tensor) -> Tensor:
    """Their own logits with the mask; a transformer must also be told where each row begins."""
    places = (mask.cumsum(1) - 1).clamp(min=0)
    options = {} if type(model).__name__.endswith("MambaForCausalLM") or "Mamba" in type(model).__name__ else {
        "position_ids": places
    }  # fmt: skip
    with torch.no_grad():
        found: Tensor = model(input_ids=padded, attention_mask=mask, use_cache=False, **options).logits
    return found


def test_masks_with_holes_and_of_another_form_are_told_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"one after the other.*Row 1 has 101"):
        right_padded(tokens(3)[:2], torch.tensor([[0, 1, 1], [1, 0, 1]]))
    with pytest.raises(UsageError, match=r"at least one in each row. Row 0 has 000"):
        right_padded(tokens(3)[:1], torch.zeros(1, 3))
    with pytest.raises(UsageError, match=r"for each of the tokens \(3, 3\). Got \(3, 2\)"):
        right_padded(tokens(3), torch.ones(3, 2))
    with pytest.raises(UsageError, match=r"under 'input_ids'.*Got attention_mask"):
        rote.adapt(drawn("Mamba", 0), example={"attention_mask": torch.ones(1, 3)})


@pytest.mark.parametrize("kind", OTHERS)
def test_other_models_are_connected_through_their_own_forward(kind: str) -> None:
    model = model_of(kind, **OTHERS[kind])
    with untouched(model):
        adapted = rote.adapt(model, example=tokens())
        reach = rote.connectivity(adapted, tokens())
    assert isinstance(adapted, OwnForward)
    assert reach.values.shape == (3, 7, 7)
    assert float(reach.error.max()) < 1e-3
    assert float(reach.values.triu(1).max()) < 1e-6 * float(reach.values.max())
    with pytest.raises(UsageError, match=r"rote.decompose needs 'arithmetic'.*It was not taken apart because of"):
        rote.decompose(adapted, tokens(), spans=[(0, 1)])


def test_rwkv_is_refused_before_it_divides_its_weights() -> None:
    model = model_of("Rwkv", hidden_size=8, num_hidden_layers=7, context_length=32)
    before = [weight.clone() for weight in model.parameters()]
    with pytest.raises(UsageError, match=r"model\.config.rescale_every = 0"):
        rote.adapt(model, example=tokens())
    assert all(torch.equal(one, two) for one, two in zip(before, model.parameters(), strict=True))
    model.config.rescale_every = 0
    assert isinstance(rote.adapt(model, example=tokens()), TracedModel)


def test_rwkv_that_has_divided_its_weights_is_to_be_loaded_again() -> None:
    model = model_of("Rwkv", hidden_size=8, num_hidden_layers=7, context_length=32)
    with torch.no_grad():
        model(tokens())
    with pytest.raises(UsageError, match=r"has divided its weights in place .* Load it again"):
        rote.adapt(model, example=tokens())


def test_a_model_that_looks_ahead_does_not_see_what_a_tokenizer_has_padded() -> None:
    sizes = {**SMALL, "num_attention_heads": 2, "intermediate_size": 8}
    model = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=hub_models.WORDS, **sizes)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(weight.numel())))
    ids, mask = tokens(), torch.ones(3, 7, dtype=torch.int64)
    ids[1, :3], mask[1, :3] = 0, 0
    adapted = rote.adapt(model, example={"input_ids": ids, "attention_mask": mask, "special_tokens_mask": mask})
    assert isinstance(adapted, OwnForward)
    moved, _ = right_padded(ids, mask)
    with torch.no_grad():
        alone = model(moved[1:2, :4]).logits[0]
        torch.testing.assert_close(adapted(moved)[1, :4], alone, atol=1e-5, rtol=1e-5)
        assert float((model(moved).logits[1, :4] - alone).abs().max()) > 1e-3  # it would see them without the mask
    assert not rote.connectivity(adapted, moved).values[1, :4, 4:].any()


@pytest.mark.parametrize("by_name", [True, False])
def test_an_encoder_decoder_is_seen_from_both_sides(by_name: bool) -> None:
    """Of which both sides have one table, in two modules."""
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=hub_models.WORDS, **sizes)).eval()
    source, said = tokens(7), tokens(4)
    named = {"input_ids": source, "attention_mask": torch.ones_like(source), "decoder_input_ids": said}
    adapted = rote.adapt(model, example=named if by_name else tuple(named.values()))
    reach = rote.connectivity(adapted, source)
    assert reach.values.shape == (3, 4, 7)
    output = rote.connectivity(adapted.side(1 if by_name else 2), said)
    assert output.values.shape == (3, 4, 4)
    assert not output.values.triu(1).any()
    table = model.shared.weight.detach()
    for vectors, name, values, ids in (("inputs_embeds", "decoder_input_ids", reach.values, source),
                                       ("decoder_inputs_embeds", "input_ids", output.values, said)):  # fmt: skip
        given = table[ids].requires_grad_()
        logits = model(**{vectors: given, name: named[name]}, use_cache=False).logits
        (gradient,) = torch.autograd.grad(logits[2, 3].max(), given)
        torch.testing.assert_close(values[2, 3], (gradient[2] @ table.T).norm(dim=-1), atol=1e-5, rtol=1e-4)


def test_a_model_without_values_is_told_in_one_line() -> None:
    with torch.device("meta"):
        model = transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=hub_models.WORDS, **SMALL))
    with pytest.raises(UsageError, match=r"on the meta device: it has no values. Load the weights first"):
        rote.adapt(model, example=tokens())


def test_blocks_that_are_alike_are_one_line() -> None:
    model = model_of("Mamba", hidden_size=12, num_hidden_layers=3, state_size=3)
    lines = repr(rote.adapt(model, example=tokens())).splitlines()
    assert [line.strip() for line in lines] == [
        "TracedModel(",
        "embedding: 20 symbols as vectors of 12",
        "backbone.layers.0.norm: root mean square norm",
        "backbone.layers.0.norm: scaled",
        "backbone.layers.0.mixer: S6Cell, 12 -> 12",
        "backbone.layers.0: sum",
        "backbone.layers.1: as the one before",
        "backbone.layers.2: as the one before",
        "backbone.norm_f: root mean square norm",
        "backbone.norm_f: scaled",
        "lm_head: linear map, 12 -> 20",
        lines[-2].strip(),
        ")",
    ]
