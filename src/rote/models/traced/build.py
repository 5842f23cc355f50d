"""From what was seen of a forward pass to a model of stages, with a line for each thing that was found."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Plain
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.models.traced.graph import OPERATIONS, Node, memories_of
from rote.models.traced.meaning import At, Lost, Scene, Series, Unclear, first_kept
from rote.models.traced.stages import Program, Stages, Wire, stages_for

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from rote.models.traced.own_forward import OwnForward
    from rote.models.traced.recorder import Followed

ENDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda logits: logits.softmax(-1),
    "log_softmax": lambda logits: logits.log_softmax(-1),
    "sigmoid": torch.sigmoid,
}
FIRST = 8  # steps that attention has room for before it has read anything
SHOWN = {
    "linear": "linear map", "norm": "norm", "product": "product", "mean": "mean of units", "scale": "scaled",
    "shift": "constant added", "add": "sum", "subtract": "difference", "join": "beside each other",
    "piece": "some of the units", "spread": "repeated", "positions": "positions added to the embedding",
}  # fmt: skip


class TracedModel(SequenceModel):
    """A user's whole module in stages."""

    reads_on = False  # a layer carries more than its own states, and counts its steps

    def __init__(self, parts: Parts, positions_for: Callable[[int], Tensor] | None) -> None:
        super().__init__(parts.stages, parts.embedding, parts.readout)
        self.parts, self._positions_for = parts, positions_for
        self._positions: dict[int, Tensor] = {}
        self.compared: set[int] = set()  # numbers of steps on which it was compared with the module
        self.padded = True  # whether it is right about rows that end with padding
        self._source = Source()
        self._versions: Versions = ()

    @property
    def ending(self) -> str:
        """What the module does with its logits at the end; these are before it."""
        return self.parts.ending

    @property
    def last_only(self) -> bool:
        """Whether the module gives the outputs of the last step alone."""
        return self.parts.last_only

    def forward(
        self, inputs: Tensor, *, lengths: Tensor | None = None, initial: States | None = None
    ) -> Float[Tensor, "batch time output"]:
        self._renew()
        self._make_room(inputs.shape[1])
        self.check_counted(inputs, lengths)
        self._compare(inputs.shape[1])
        return super().forward(inputs, lengths=lengths, initial=initial)

    def follow(self, source: Source) -> None:
        """Be made anew from a module whenever that has been trained further."""
        self._source, self._versions = source, source.versions()

    def _renew(self) -> None:
        """Weights are the module's own, but not what is computed from them: positions, norms of weights, sums."""
        now = self._source.versions()
        if self._source.module is None or now == self._versions:
            return
        made = self._source.again()
        if not isinstance(made, TracedModel):
            raise UsageError(
                f"The module has changed since rote.adapt(), and {made.reason} cannot be taken apart. Adapt it again."
            )
        self.recurrent, self.embedding, self.readout = made.recurrent, made.embedding, made.readout
        self.parts, self.padded, self.origin, self._versions = made.parts, made.padded, made.origin, now
        self._positions_for, self._positions, self.compared = made._positions_for, {}, made.compared

    def _compare(self, time: int) -> None:
        """With the module itself, on any number of steps that is new: its forward may depend on that."""
        if self._source.module is not None and time not in self.compared:
            self.compared.add(time)
            try:
                self._source.compare(self, time)
            except UsageError:
                self.compared.discard(time)
                raise

    @property
    def positioned(self) -> bool:
        return self._positions_for is not None

    @property
    def padding(self) -> frozenset[int]:
        """The tokens that the module itself leaves out, by comparing tokens with a number."""
        return self.parts.padding

    def _check_padding(self, tokens: Tensor) -> None:
        """Padding is left out by ``lengths``, so only at the end of a row."""
        if not self.padding:
            return
        found = _is_padding(tokens, self.padding)
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        wrong = found & (steps < counted_steps(tokens, self.padding)[:, None]) if self.padded else found
        if bool(wrong.any()):
            row, step = wrong.nonzero()[0].tolist()
            raise UsageError(
                f"The module takes {int(tokens[row, step])} for padding, and row {row} has it at step {step}. "
                + ("Padding must stand at the end, with lengths=..." if self.padded else "Give rows without padding.")
            )

    def check_counted(self, tokens: Tensor, lengths: Tensor | None) -> None:
        if not (self.padded or self.padding) and lengths is not None and bool((lengths < tokens.shape[1]).any()):
            raise UsageError(
                "The module itself does not leave out all that is behind 'lengths'. Give rows of one length, one at a "
                "time, without padding."
            )
        if lengths is not None or not self.padding or not self.padded:
            return
        counted = counted_steps(tokens, self.padding)
        if bool((counted < tokens.shape[1]).any()):
            raise UsageError(f"The module leaves out padding. Give lengths={counted.tolist()}.")

    def check_weights(self) -> None:
        self._renew()
        super().check_weights()

    def _make_room(self, time: int) -> None:
        """Attention keeps every step that it sees: a longer text than all before needs layers with more room."""
        stages = self.recurrent
        assert isinstance(stages, Stages)
        if stages.for_steps(time) is not stages:
            self.recurrent = stages.for_steps(1 << (time - 1).bit_length()).train(self.training)

    def embed(self, inputs: Tensor) -> Float[Tensor, "batch time input"]:
        self._renew()
        self._make_room(inputs.shape[1])
        self._check_padding(inputs)
        self._compare(inputs.shape[1])
        vectors = super().embed(inputs)
        if self.embedding is None or self._positions_for is None:
            return vectors
        time = inputs.shape[1]
        if time not in self._positions:
            self._positions[time] = self._positions_for(time)
        return vectors + self._positions[time]

    def embedding_matrix(self) -> Float[Tensor, "vocabulary input"]:
        weight = super().embedding_matrix()
        return weight if self.parts.scale is None else weight * self.parts.scale

    def __repr__(self) -> str:
        lines = [*self.parts.lines, *([self.origin] if self.origin else [])]
        if self.padding:
            tokens = ", ".join(map(str, sorted(self.padding)[:3])) + ", ..." * (len(self.padding) > 3)
            lines.insert(-1, f"padding: {tokens}, {'left out by lengths=...' if self.padded else 'which is not taken'}")
        return "\n  ".join(["TracedModel(", *lines]) + "\n)"


Versions = tuple[tuple[int, int], ...]


class Source:
    """The module that a model was made from, and how to make it anew. A copy of the model has none: it stays as it is,
    whatever becomes of the module."""

    def __init__(
        self,
        module: nn.Module | None = None,
        make: Callable[[], TracedModel | OwnForward] | None = None,
        compare: Callable[[TracedModel, int], None] | None = None,
    ) -> None:
        self.module, self._make, self._compare = module, make, compare

    def versions(self) -> Versions:
        """Of its weights: which tensors they are, and how often each was written to."""
        if self.module is None:
            return ()
        weights = (*self.module.parameters(), *self.module.buffers())
        return tuple((id(weight), 0 if weight.is_inference() else weight._version) for weight in weights)

    def again(self) -> TracedModel | OwnForward:
        assert self._make is not None
        return self._make()

    def compare(self, made: TracedModel, time: int) -> None:
        """Refuse what the module and what was made of it do not do alike on so many steps."""
        assert self._compare is not None
        self._compare(made, time)

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return Source()


@dataclass(frozen=True)
class Parts:
    """What a ``TracedModel`` is made of."""

    stages: Stages
    embedding: nn.Embedding | None
    readout: nn.Module | None
    scale: Tensor | None  # of the embedding, before positions are added
    ending: str
    last_only: bool
    lines: tuple[str, ...]
    axes: tuple[str, ...]  # of the module's own outputs
    padding: frozenset[int]


def _is_padding(tokens: Tensor, padding: frozenset[int]) -> Tensor:
    return torch.isin(tokens, torch.tensor(sorted(padding), device=tokens.device))


def counted_steps(tokens: Int[Tensor, "batch time"], padding: frozenset[int]) -> Int[Tensor, " batch"]:
    """How many steps there are in each row up to the padding at its end."""
    steps = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
    return (steps * ~_is_padding(tokens, padding)).amax(1)


class Tail(nn.Module):
    """What stands between the last linear map and the outputs, with that map."""

    def __init__(self, given: Node, wanted: Node) -> None:
        super().__init__()
        self.program = Program([Wire(given, 0, given.size)], [wanted])

    def forward(self, states: Tensor) -> Tensor:
        return self.program.run(Plain(), states)[0]


def build(followed: Followed) -> Parts:
    """The parts of a model; ``Unclear`` if there is something that the arithmetic cannot express."""
    scene, meaning = followed.scene, followed.meaning
    if isinstance(meaning, Lost):
        raise Unclear(meaning.reason)
    if scene.decisions:
        raise Unclear(f"a way through the forward that depends on values ({scene.decisions[0]})")
    if not isinstance(meaning, Series | At) or scene.leaf is None:
        raise Unclear("outputs that are not made from the inputs step by step")
    if isinstance(meaning, At) and meaning.time == 0:
        meaning = first_kept(scene, meaning)
    if isinstance(meaning, At) and meaning.time != scene.time - 1:
        raise Unclear("outputs of a step in the middle")
    node, ending = _before_ending(meaning.node)
    leaf = scene.leaf
    for step in _all(node):
        if step.op == "positions":
            leaf = step
    scale = _scale_of(leaf)
    _refuse_unknown(node, leaf)
    last = node
    while last.op in ("apply", "scale", "shift"):
        (last,) = last.inputs
    features = last.inputs[0] if last.op == "linear" else node
    readout: nn.Module | None = None
    if last.op == "linear":
        readout = _linear(last) if last is node else Tail(features, node)
    stages = stages_for(features, leaf, scene.like).for_steps(FIRST)
    lines = _lines(scene, node, ending, isinstance(meaning, At))
    last_only, padding = isinstance(meaning, At), frozenset(scene.padding)
    return Parts(stages, _embedding(scene), readout, scale, ending, last_only, tuple(lines), meaning.axes, padding)


def _before_ending(node: Node) -> tuple[Node, str]:
    if node.op in ("softmax", "log_softmax"):
        return node.inputs[0], node.op
    if node.op == "apply" and node.options[0] is torch.sigmoid and node.inputs[0].op == "linear":
        return node.inputs[0], "sigmoid"
    return node, ""


def _all(node: Node) -> list[Node]:
    """Every node below, with itself, those below first."""
    found: dict[int, Node] = {}

    def visit(at: Node) -> None:
        if id(at) not in found:
            for below in at.inputs:
                visit(below)
            found[id(at)] = at

    visit(node)
    return list(found.values())


def _scale_of(leaf: Node) -> Tensor | None:
    if leaf.op != "positions":
        return None
    factor: Tensor | None = None
    (node,) = leaf.inputs
    while node.op == "scale":
        weight = node.weights[0]
        assert weight is not None
        factor = weight if factor is None else factor * weight
        (node,) = node.inputs
    return factor


def _refuse_unknown(wanted: Node, leaf: Node) -> None:
    below = {id(node) for node in _all(leaf)}
    for node in _all(wanted):
        if node.op == "input" and leaf is not node and id(node) in below and _reaches(wanted, node, leaf):
            raise Unclear("the embedding used both with its positions and without")
        if id(node) not in below and not node.is_memory and node.op not in OPERATIONS:
            what = {"state": "a memory cell that is read", "softmax": "a softmax inside the model"}
            raise Unclear(f"{what.get(node.op, node.op)} in {node.where!r}")


def _reaches(wanted: Node, node: Node, leaf: Node) -> bool:
    """Whether there is a way to ``node`` that does not pass ``leaf``."""
    seen: set[int] = {id(leaf)}
    open_ = [wanted]
    while open_:
        at = open_.pop()
        if at is node:
            return True
        if id(at) not in seen:
            seen.add(id(at))
            open_ += at.inputs
    return False


def _parameter(weight: Tensor) -> nn.Parameter:
    return weight if isinstance(weight, nn.Parameter) else nn.Parameter(weight.detach(), requires_grad=False)


class Shared(nn.Linear):
    """A linear map with weights that there are already; none are drawn for it."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        nn.Module.__init__(self)
        self.out_features, self.in_features = weight.shape
        self.weight = _parameter(weight)
        self.register_parameter("bias", None if bias is None else _parameter(bias))


def _linear(node: Node) -> nn.Linear:
    weight, bias = node.weights
    assert weight is not None
    return Shared(weight, bias)


def _embedding(scene: Scene) -> nn.Embedding | None:
    if scene.embedding is None:
        return None
    options = scene.embedding
    weight, padding = options["weight"], options["padding_idx"]
    rows, size = weight.shape
    made = nn.Embedding(rows, size, padding, _weight=weight.detach())  # given, so that none are drawn
    made.max_norm, made.norm_type = options["max_norm"], options["norm_type"]
    made.weight = _parameter(weight)
    return made


def _lines(scene: Scene, wanted: Node, ending: str, last_only: bool) -> list[str]:
    """One for each thing that was found, in order; blocks that are like the one before in one line."""
    lines: list[str] = []
    if scene.embedding is not None:
        weight = scene.embedding["weight"]
        lines.append(f"embedding: {len(weight)} symbols as vectors of {weight.shape[1]}")
    memories = memories_of(wanted)
    for node in _all(wanted):
        mates = [other for other in memories if node.is_memory and other.inputs == node.inputs and other is not node]
        if node.op in ("input", "join") or (node.reverse and any(not mate.reverse for mate in mates)):
            continue
        way = " in both directions" if any(mate.reverse for mate in mates) else " backward" * node.reverse
        lines.append(f"{node.where + ': ' if node.where else ''}{_shown(node)}{way}")
    lines = _without_repeats(lines)
    lines += ["outputs: of the last step"] if last_only else []
    return lines + ([f"outputs: before the {ending} at the end"] if ending else [])


def _without_repeats(lines: list[str]) -> list[str]:
    """Lines of a block, "layers.1. ...", in one if they are those of the block before."""
    blocks = [
        (name, list(group)) for name, group in itertools.groupby(lines, lambda line: _block_of(line.split(":")[0]))
    ]
    shown: list[str] = []
    before: list[str] | None = None
    for name, group in blocks:
        bare = [line.replace(name, "", 1) for line in group]
        if name and bare == before:
            shown.append(f"{name}: as the one before")
        else:
            shown += group
        before = bare if name else None
    return shown


def _block_of(where: str) -> str:
    """ "backbone.layers.3" of "backbone.layers.3.norm"; empty for what is in no list."""
    parts = where.split(".")
    place = next((at for at, part in enumerate(parts) if part.isdigit()), None)
    return "" if place is None or place == 0 else ".".join(parts[: place + 1])


def _shown(node: Node) -> str:
    size = node.inputs[0].size if node.inputs else 0
    if node.is_memory:
        start = ", from learned states" if node.start is not None else ""
        return f"{node.op}, {size} -> {node.size}{start}"
    if node.op == "apply":
        function = node.options[0]
        return getattr(function, "__name__", getattr(getattr(function, "func", None), "__name__", "function"))
    if node.op == "norm":
        return {"layer": "layer norm", "rms": "root mean square norm", "length": "length set to 1"}[node.options[0]]
    return SHOWN.get(node.op, node.op) + (f", {size} -> {node.size}" if node.op == "linear" else "")
