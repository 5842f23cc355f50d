"""How the networks of a study are made again from a run: which there are, what they read and say.

One entry of ``KINDS`` for each study whose networks read symbols one after another. Members and their names come from
the settings alone; torch, texts and weights are touched when a network is rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rote.explorer.shelf import Unit
from rote.store import FinishedRun, Request
from rote.studies import studies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rote.models import LanguageModelConfig, SequenceModel
    from rote.tasks.rules import RulesTask

Names = tuple[str, ...]
SHOWN = 24  # symbols of an example
OPEN, CLOSE = "(", ")"  # of a rule
BEHIND = "a sentence begins behind “{}”"
BITS = "a symbol's probability is that of the bits of its code, taken as independent"


@dataclass(frozen=True)
class Rebuilt:
    model: SequenceModel
    inputs: Names
    outputs: Names
    example: str = ""  # a text as it was trained on


@dataclass(frozen=True)
class Member:
    """One network of a run."""

    seed: int
    setting: str = ""  # what else tells it from the others


Rebuild = Callable[[FinishedRun, int | None, int], Rebuilt]  # a run, the step of a checkpoint, which of its networks


@dataclass(frozen=True)
class Kind:
    rebuild: Rebuild
    settings: Callable[[Any, str], Sequence[str]] = lambda config, part: ("",)  # each with every seed, in this order
    unit: Unit = "word"
    on_the_way: bool = True  # whether checkpoints before the last are of the network that was kept
    about: str = ""

    def members(self, request: Request) -> list[Member]:
        settings = self.settings(config_of(request), request.part)
        return [Member(seed, setting) for setting in settings for seed in request.seeds]


def config_of(request: Request) -> Any:
    return studies[request.study]().config_of(request)


def autocomplete(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.memorization.autocomplete_runs import load_model
    from rote.tasks.alphabet import CHARACTERS

    model = load_model(config_of(run.record.request), run, step)
    return Rebuilt(model, CHARACTERS, model.vocabulary)


def text(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.foundations.text_training import trained

    found: Any = trained(run)
    words = tuple(found.corpus.vocabulary.words)
    first = found.corpus.dev.inputs.values[: found.corpus.dev.inputs.lengths[0]]
    return Rebuilt(found.model, words, tuple(found.corpus.labels), _spelled(words, first))


def agreement(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    config, seed = config_of(run.record.request), _seeds(run)[index]
    words = config.task.words
    model = _stacked(run, step, index, len(words), config.model, config.training.torch_dtype())
    return Rebuilt(model, words, words, _spelled(words, [0, *config.task.training(seed, 1).tokens[0]]))


def selection(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    config, seeds = config_of(run.record.request), _seeds(run)
    task = list(config.settings().values())[index // len(seeds)]
    model = _stacked(run, step, index, len(task.words), config.model, config.training.torch_dtype())
    sentence = task.training(seeds[index % len(seeds)], 0, 1)[0]
    return Rebuilt(model, task.words, task.words, _spelled(task.words, [0, *sentence]))


def matrix(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.matrix.lessons import lesson

    config, seed = config_of(run.record.request), _seeds(run)[index]
    taught = lesson(config.tasks[0], seed, config.questions)
    model = _stacked(run, step, index, taught.symbols, config.model, config.training.torch_dtype())
    return Rebuilt(model, taught.names, taught.names, _spelled(taught.names, [0, *taught.sentences[0]]))


def frequency(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    config = config_of(run.record.request)
    tasks = [config.task(n, k) for k in config.lengths for n in config.counts]
    return _rules(run, step, index, tasks, config)


def predictability(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    config = config_of(run.record.request)
    tasks = [config.task(setting, k) for setting in config.settings for k in config.lengths]
    return _rules(run, step, index, tasks, config)


def elman(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    """Networks by Elman's own procedure."""
    from rote.explorer.logistic import as_sequence_model
    from rote.models import StackedSRN

    config, seeds = config_of(run.record.request), _seeds(run)
    settings, stream = config.training, config.task().test(seeds[index])
    bits = stream.codes.shape[1]
    dtype = settings.config(1).torch_dtype()
    networks = StackedSRN(bits, settings.hidden, bits, seeds, settings.limit, dtype)
    networks.load_state_dict(run.checkpoint(step)["model"])
    model = as_sequence_model(networks, index, stream.codes)
    between = "" if all(len(name) == 1 for name in stream.names) else " "
    return Rebuilt(model, stream.names, stream.names, _spelled(stream.names, stream.symbols, between))


def lexicon(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.foundations.elman_lexicon import MODEL

    if run.record.request.part != MODEL:
        return elman(run, step, index)
    from rote.studies.foundations.lexicon_training import WordModels

    config, seeds = config_of(run.record.request), _seeds(run)
    task = config.task()
    streams = [task.training(seed) for seed in seeds]
    program = WordModels(streams, task.length, config.language_model, seeds, "cpu")
    program.model.load_state_dict(run.checkpoint(step)["model"])
    names = streams[index].names
    return Rebuilt(program.model.replica(index), names, names, _spelled(names, streams[index].symbols))


KINDS: dict[str, Kind] = {
    "agreement": Kind(agreement, about=BEHIND.format(".")),
    "autocomplete": Kind(autocomplete, unit="character"),
    "classification": Kind(
        text, lambda config, part: (part,), on_the_way=False,
        about="what it says at a word is what it would say of a text that ends there",
    ),
    "conduit-frequency": Kind(
        frequency, lambda config, part: [f"k = {k}, n = {n}" for k in config.lengths for n in config.counts],
        about=f"a rule is {OPEN} symbols {CLOSE}",
    ),
    "conduit-predictability": Kind(
        predictability, lambda config, part: [f"{name}, k = {k}" for name in config.settings for k in config.lengths],
        about=f"a rule is {OPEN} symbols {CLOSE}",
    ),
    "elman-letters": Kind(elman, unit="character", about=BITS),
    "elman-lexicon": Kind(
        lexicon, lambda config, part: (part,), about="by Elman's procedure a word's probability comes from its bit"
    ),
    "elman-words": Kind(elman, unit="character", about=BITS),
    "elman-xor": Kind(elman, unit="character"),
    "language-modeling": Kind(text, lambda config, part: (part,), on_the_way=False),
    "matrix": Kind(matrix, lambda config, part: config.tasks, about=BEHIND.format("<start>” or “.")),
    "selection": Kind(selection, lambda config, part: tuple(config.settings()), about=BEHIND.format(".")),
    "tagging": Kind(text, lambda config, part: (part,), on_the_way=False),
}  # fmt: skip


def rule_names(task: RulesTask) -> Names:
    """Fillers are numbers."""
    named = {task.open: OPEN, task.close: CLOSE}
    return tuple(named.get(number, str(number)) for number in range(task.symbols))


def _rules(run: FinishedRun, step: int | None, index: int, tasks: Sequence[RulesTask], config: Any) -> Rebuilt:
    task = tasks[index // len(_seeds(run))]
    names, passes = rule_names(task), config.training
    dtype = passes.config(task.length).torch_dtype()
    model = _stacked(run, step, index, len(names), config.model, dtype, passes.batch)
    conduit = [str(number % task.vocabulary) for number in range(1, task.conduit + 1)]
    return Rebuilt(model, names, names, " ".join(["0", "1", OPEN, *conduit, CLOSE]))


def _stacked(
    run: FinishedRun,
    step: int | None,
    index: int,
    symbols: int,
    config: LanguageModelConfig,
    dtype: Any,
    batch: int = 1,
) -> SequenceModel:
    """One of the language models that were trained as one program."""
    from rote.models import StackedLanguageModel

    weights = run.checkpoint(step)["model"]
    replicas = len(weights["readout"])
    stacked = StackedLanguageModel(symbols, config, [0] * replicas, dtype, batch)  # whatever it starts from
    stacked.load_state_dict(weights)
    return stacked.replica(index)


def _seeds(run: FinishedRun) -> tuple[int, ...]:
    return run.record.request.seeds


def _spelled(names: Names, symbols: Sequence[int] | NDArray[Any], between: str = " ") -> str:
    """The beginning of a sequence; padding is no symbol."""
    return between.join(names[number] for number in list(symbols)[:SHOWN] if number >= 0)
