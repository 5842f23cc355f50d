"""A user's whole module as a model: followed, built of stages, compared with the module itself at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rote.cells.adapt import unwrapped
from rote.cells.arithmetic import Plain
from rote.cells.recurrent import mask_of, unroll
from rote.errors import UsageError
from rote.models.calling import left_alone, tensor_of
from rote.models.in_eval import in_eval
from rote.models.readout import ROUNDING
from rote.models.traced.build import ENDINGS, Parts, Source, TracedModel, build, counted_steps
from rote.models.traced.example import Example, example_of, plain_rows
from rote.models.traced.graph import OPERATIONS, Node, compute
from rote.models.traced.known_modules import refuse_traps
from rote.models.traced.meaning import Series, Unclear
from rote.models.traced.own_forward import OwnForward
from rote.models.traced.recorder import Followed, follow
from rote.models.traced.stages import with_room

Call = Callable[..., Any]
QUANTIZING = ("bitsandbytes", "torchao", "hqq", "gptqmodel", "auto_gptq", "awq", "aqlm", "eetq", "compressed_tensors",
              "optimum")  # fmt: skip
ROUNDED = 32.0  # times the rounding of a number, by which inputs are changed to see how much that moves the outputs
MOST = 50.0  # times the difference that is allowed without that look


def adapt_whole(model: nn.Module, example: Any, call: Call | None) -> TracedModel | OwnForward:
    """``model`` in stages if it can be taken apart; else as what can be looked at through its own forward."""
    module = model if isinstance(model, torch.jit.ScriptModule) else unwrapped(model)
    refuse_unfit(module)
    given = example if isinstance(example, Example) else example_of(module, example)
    like = _like(module, given.inputs)
    run = call or _calling(module, given.names)

    def followed(batch: Example) -> Followed:
        with torch.inference_mode(False), left_alone(run, batch.inputs.device):
            return _followed(module, batch, run, like)

    first = followed(plain_rows(given))
    try:
        parts = build(first)
    except Unclear as reason:
        if given.mask is not None:
            given = given.masked
            run = call or _calling(module, given.names)
            first = followed(given)
        with torch.inference_mode(False), torch.no_grad(), left_alone(run, given.inputs.device):
            twin = in_eval(module)
            outputs, again = (tensor_of(run(twin, given.inputs.clone(), *given.others)) for _ in range(2))
        _refuse_restless(module, outputs, again, ROUNDING[first.scene.lowest])
        return OwnForward(module, run, given, first, str(reason))
    positions = None
    if first.scene.positions is not None:
        positions = _positions(followed, given)
    made = TracedModel(parts, positions).train(module.training)
    beside = Comparison(module, given, run, first, followed)
    beside.verify(made)
    made.follow(Source(module, lambda: adapt_whole(module, given, call), beside.longer))
    return made


def _calling(module: nn.Module, names: Sequence[str]) -> Call:
    """As a function of its arguments, with these names or none; a cache that Hugging Face's modules would fill is of no
    use here."""
    options = {"use_cache": False} if "use_cache" in inspect.signature(module.forward).parameters else {}
    if names:
        return lambda twin, inputs, *others: twin(inputs, **dict(zip(names, others, strict=True)), **options)
    return lambda twin, inputs, *others: twin(inputs, *others, **options)


def refuse_unfit(module: Any) -> None:
    """What cannot be run, or does not hold its weights as numbers."""
    if not isinstance(module, nn.Module):
        raise UsageError(
            f"'model' must be an nn.Module. Got {type(module).__name__}. Of a function rote.connectivity(function, "
            "tokens, embedding=...) shows what its outputs depend on."
        )
    if isinstance(module, torch.jit.ScriptModule):
        raise UsageError(
            "'model' was made by torch.jit, and cannot be followed. Give the module that it was made from."
        )
    for name, weight in (*module.named_parameters(), *module.named_buffers()):
        if weight.is_meta:
            raise UsageError(
                f"{name!r} of 'model' is on the meta device: it has no values. Load the weights first, as with "
                "load_state_dict(..., assign=True)."
            )
        if type(weight).__name__ == "DTensor" or getattr(weight, "is_sharded", False) or hasattr(weight, "ds_id"):
            raise UsageError(f"{name!r} of 'model' is sharded over machines. Gather it first: weight.full_tensor().")
        if _package(weight) in QUANTIZING:
            raise UsageError(_quantized(name, weight))
    refuse_traps(module)
    if getattr(module, "is_quantized", False) is True:  # as Hugging Face says it
        raise UsageError(_quantized("", module))
    for name, part in module.named_modules():
        if "quantized" in type(part).__module__ or _package(part) in QUANTIZING:
            raise UsageError(_quantized(name, part))


def _package(one: Any) -> str:
    return type(one).__module__.split(".")[0]


def _quantized(name: str, one: Any) -> str:
    what = repr(name) if name else "The model"
    return (
        f"{what} is quantized ({type(one).__name__}): there are no gradients through it. Load the model without "
        "quantization."
    )


def _like(module: nn.Module, inputs: Tensor) -> Tensor:
    everything: list[Tensor] = [*module.parameters(), *module.buffers()]
    weights = [weight for weight in everything if weight.is_floating_point()]
    if not weights:
        raise UsageError(f"'model' ({type(module).__name__}) has no weights: there is nothing to look at.")
    return weights[0].detach().new_zeros(())


def _followed(module: nn.Module, batch: Example, run: Call, like: Tensor) -> Followed:
    try:
        return follow(module, batch.inputs, lambda twin, inputs: run(twin, inputs, *batch.others), like)
    except UsageError:
        raise
    except Exception as error:
        raise _failed(module, batch, error) from error


def _failed(module: nn.Module, batch: Example, error: Exception) -> UsageError:
    said = str(error).splitlines()
    parameters = inspect.signature(module.forward).parameters
    takes = list(parameters)
    named = takes and parameters[takes[0]].kind is inspect.Parameter.KEYWORD_ONLY
    rows = sorted({part.num_embeddings for part in module.modules() if isinstance(part, nn.Embedding)})
    if "index out of range in self" in said and rows:  # as a table says it
        most, steps = int(batch.inputs.max()), batch.inputs.shape[1]
        return UsageError(
            f"'model' ({type(module).__name__}) failed on tokens up to {most} in {steps} steps, since its tables have "
            f"{' and '.join(map(str, rows))} rows. Give tokens, and no more steps, that there are rows for."
        )
    return UsageError(
        f"'model' ({type(module).__name__}) failed on inputs {tuple(batch.inputs.shape)}: {type(error).__name__}: "
        f"{said[0].rstrip('.') if said else ''}. Its forward takes {', '.join(takes) or 'nothing'}: give all of them, "
        "example=(tokens, lengths), or say how to call it: call=lambda model, tokens: "
        f"model({takes[0] + '=' if named else ''}tokens, ...)."
    )


def _positions(followed: Callable[[Example], Followed], given: Example) -> Callable[[int], Tensor]:
    """What is added to the embedding at each step of a sequence of any length, as the module has it."""

    def positions(time: int) -> Tensor:
        steps = torch.arange(max(time, 2)) % given.inputs.shape[1]  # of one step alone it could be any constant
        longer = replace(given, inputs=given.inputs[:, steps])
        found = followed(plain_rows(longer)).scene.positions
        assert found is not None
        return found[:time]

    return positions


@dataclass
class Comparison:
    """A module beside what was made of it."""

    module: nn.Module
    given: Example
    run: Call
    first: Followed
    followed: Callable[[Example], Followed]

    def __post_init__(self) -> None:
        self._twin = in_eval(self.module)

    def verify(self, made: TracedModel) -> None:
        """On the example, and on others made from it."""
        given, time, rows = self.given, self.given.inputs.shape[1], torch.arange(len(self.given.inputs))
        with self._apart():
            theirs, again = self._theirs(given), self._theirs(given)
            _refuse_restless(self.module, theirs, again, self._allowed(made))
            worst = self._differ(made, given, theirs)
            where = _first_wrong(made, self.first, MOST * self._allowed(made))
            if where:
                raise UsageError(_hidden(self.module, where))
            plain = self._unpadded(made)
            turned = replace(plain, inputs=plain.inputs.flip(1))
            alone, fewer = turned.rows(rows[-1:], time - 1), turned.rows(rows.flip(0), time - 1)
            for candidates in ([alone, fewer], self._drawn(made, 2 * time)):
                worst = max(worst, self._first_that_runs(made, candidates))
            if made.padding or given.lengths is not None:
                try:
                    self._differ(made, self._padded(made, plain))
                except UsageError:  # right without padding
                    made.padded = False
                except Exception:  # a module of one length
                    made.padded = False
        made.origin = f"compared with {type(self.module).__name__}: largest difference {worst:.1g}"

    def longer(self, made: TracedModel, time: int) -> None:
        """On another number of steps than those that were verified."""
        with self._apart():
            self._first_that_runs(made, self._drawn(made, time), time > max(made.compared - {time}))

    @contextmanager
    def _apart(self) -> Iterator[None]:
        with torch.inference_mode(False), torch.no_grad(), left_alone(self.run, self.given.inputs.device):
            yield

    def _allowed(self, made: TracedModel) -> float:
        return max(ROUNDING[self.first.scene.lowest], ROUNDING[made.zeros.dtype])

    def _theirs(self, one: Example) -> Tensor:
        found = tensor_of(self.run(self._twin, one.inputs.clone(), *one.others))
        assert found is not None
        return found

    def _first_that_runs(self, made: TracedModel, candidates: Sequence[Example], must: bool = False) -> float:
        """The difference on the first that the module takes: it may be one of one length, or of some tokens only."""
        failed: Exception | None = None
        for one in candidates:
            try:
                theirs = self._theirs(one)
            except Exception as error:
                failed = error
                continue
            if bool(theirs.isfinite().all()):
                return self._differ(made, one, theirs)
        if must and failed is not None and not self.given.others:
            raise _failed(self.module, candidates[0], failed)
        return 0.0

    def _differ(self, made: TracedModel, one: Example, theirs: Tensor | None = None) -> float:
        """How far both are from each other, if that is what rounding may do."""
        theirs = self._theirs(one) if theirs is None else theirs
        time, allowed = one.inputs.shape[1], self._allowed(made)
        made.compared.add(time)
        lengths = _lengths_of(one, made.padding, self.followed if self.first.scene.lengths is not None else None)
        ours = in_eval(made)(one.inputs, lengths=lengths)
        difference, scale = _difference(made.parts, ours, theirs, lengths)
        longer = time > self.given.inputs.shape[1]  # over many steps rounding may grow to anything
        if not difference <= allowed * max(scale, 1e-30) and not (
            (longer or difference <= MOST * allowed * scale) and difference <= _moved(made, one.inputs, lengths)
        ):
            raise UsageError(self._explained(one, theirs, difference, _first_wrong(made, self.first, allowed)))
        return difference

    def _explained(self, one: Example, theirs: Tensor, difference: float, where: str) -> str:
        steps, kind = self.given.inputs.shape[1], type(self.module).__name__
        what = (
            f"they differ by up to {difference:.2g} where outputs reach {float(theirs.abs().max()):.2g}"
            if difference < torch.inf
            else f"it gives {tuple(theirs.shape)}"
        )
        return (
            f"What was found in 'model' ({kind}) does not compute what it does: {what}, on inputs "
            f"{tuple(one.inputs.shape)}"
            + (f", first in {where!r}" if where else "")
            + (f"; its example has {steps} steps" if one.inputs.shape[1] != steps else "")
            + ". Give its parts yourself: rote.adapt(recurrent=..., embedding=..., readout=..., like=model)."
        )

    def _unpadded(self, made: TracedModel) -> Example:
        """The example with what counts in it once more in place of padding."""
        given, time = self.given, self.given.inputs.shape[1]
        if not made.padding:
            return given
        counted = counted_steps(given.inputs, made.padding)
        places = torch.arange(time, device=counted.device) % counted.clamp(min=1)[:, None]
        return replace(given, inputs=given.inputs.gather(1, places))

    def _drawn(self, made: TracedModel, time: int) -> list[Example]:
        """Two sequences or more of ``time`` steps with inputs that are not those of the example; or of fewer; or of
        the example's own inputs."""
        plain = self._unpadded(made)
        count, steps, draw = max(2, len(plain.inputs)), plain.inputs.shape[1], torch.Generator().manual_seed(0)
        rows = torch.arange(count) % len(plain.inputs)
        own = replace(plain, inputs=plain.inputs[:, torch.arange(time) % steps]).rows(rows, time)
        if plain.inputs.is_floating_point():
            vectors = plain.inputs.flatten(0, 1)
            picked = vectors[torch.randint(len(vectors), (count, time), generator=draw).to(vectors.device)]
            spread = float(vectors.std().nan_to_num()) or 1.0
            other = picked + spread * torch.randn(picked.shape, generator=draw).to(picked)
        else:
            table = made.embedding
            known = range(len(table.weight)) if table is not None else plain.inputs.unique().tolist()
            tokens = torch.tensor([token for token in known if token not in made.padding] or [0])
            other = tokens[torch.randint(len(tokens), (count, time), generator=draw)].to(plain.inputs)
        drawn = replace(own, inputs=other)
        return [drawn, own] if time <= steps else [drawn, drawn.rows(torch.arange(count), steps), own]

    def _padded(self, made: TracedModel, plain: Example) -> Example:
        batch, time = plain.inputs.shape[:2]
        padded = plain.rows(torch.arange(max(2, batch)) % batch, time)
        ends = (time - torch.arange(len(padded.inputs), device=plain.inputs.device)).clamp(min=1)
        if not made.padding:
            return padded.of_lengths(ends)
        return replace(padded, inputs=padded.inputs.masked_fill(~mask_of(ends, time), min(made.padding)))


def _lengths_of(one: Example, padding: frozenset[int], followed: Callable[[Example], Followed] | None) -> Tensor | None:
    """Those that are given, those by which a module packs its sequences, if it does, or those up to the padding that it
    knows."""
    if one.lengths is not None:
        return one.lengths
    found = None if followed is None else followed(one).scene.lengths
    if found is None and padding:
        found = counted_steps(one.inputs, padding).clamp(min=1)
    return None if found is None or bool((found == one.inputs.shape[1]).all()) else found


def _refuse_restless(module: nn.Module, outputs: Tensor | None, again: Tensor | None, allowed: float) -> None:
    """Refuse what gives other outputs when it is asked again."""
    assert outputs is not None
    assert again is not None
    if again.shape == outputs.shape and _difference_of(outputs, again) <= allowed * max(
        float(outputs.abs().max()), 1e-30
    ):
        return
    kind = type(module).__name__
    for name, weight in module.named_parameters():
        if not bool(weight.isfinite().all()):
            raise UsageError(f"{name!r} of 'model' ({kind}) has NaN or infinite values; nothing can be measured on it.")
    if not bool(outputs.isfinite().all()):
        raise UsageError(
            f"'model' ({kind}) gives NaN or infinite values for the example; nothing can be measured on it."
        )
    raise UsageError(
        f"'model' ({kind}) gives other outputs when it is called again with the same inputs: dropout or noise acts, or "
        "it keeps a state. Call .eval() on what it uses."
    )


def _moved(made: TracedModel, inputs: Tensor, lengths: Tensor | None) -> float:
    """How far outputs move when vectors change by some times their rounding: a deep model makes much of that, and two
    ways of computing it, both right, differ as far."""
    twin = in_eval(made)
    vectors = twin.embed(inputs)
    noise = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0)).to(vectors)
    changed = vectors * (1 + ROUNDED * torch.finfo(vectors.dtype).eps * noise)
    before, after = (twin.read(twin.recurrent(given, lengths=lengths)[0]) for given in (vectors, changed))
    if made.parts.ending:
        before, after = (ENDINGS[made.parts.ending](logits) for logits in (before, after))
    return _difference_of(before, after)


def _difference_of(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().nan_to_num(nan=torch.inf).max())


def _difference(parts: Parts, ours: Tensor, theirs: Tensor, lengths: Tensor | None) -> tuple[float, float]:
    """The largest difference where there is an input, and the largest of their outputs."""
    batch, time = ours.shape[:2]
    ours = ENDINGS[parts.ending](ours) if parts.ending else ours
    if theirs.numel() != ours.numel() // (time if parts.last_only else 1):
        return torch.inf, 1.0
    if parts.last_only:
        ends = torch.full((batch,), time) if lengths is None else lengths
        ours = ours[torch.arange(batch), ends.to(ours.device) - 1]
        theirs = theirs.reshape(ours.shape)
        mask = torch.ones(batch, dtype=torch.bool, device=ours.device)
    else:
        theirs = _in_order(theirs, parts.axes, batch, time, ours.shape[-1])
        mask = mask_of(torch.full((batch,), time) if lengths is None else lengths, time).to(ours.device)
    difference = (ours - theirs.to(ours))[mask].abs().nan_to_num(nan=torch.inf)
    return float(difference.max()), float(theirs[mask].abs().max())


def _in_order(theirs: Tensor, axes: tuple[str, ...], batch: int, time: int, size: int) -> Tensor:
    """Their outputs as [batch, time, output]."""
    sizes = {"B": batch, "T": time, "F": size}
    labels = [label for axis in axes for label in (axis if axis != "1" else "")]
    labels += ["F"] * ("F" not in labels)
    found = theirs.reshape([sizes[label] for label in labels])
    return found.permute([labels.index(label) for label in ("B", "T", "F")])


def _hidden(module: nn.Module, where: str) -> str:
    return (
        f"What was found in 'model' ({type(module).__name__}) gives the same outputs, but not the same in {where!r}, "
        "which does not reach them now: weights of 0? Give its parts yourself: rote.adapt(recurrent=..., "
        "embedding=..., readout=..., like=model)."
    )


def _first_wrong(made: TracedModel, first: Followed, allowed: float) -> str:
    """The first module whose output differs from what was found for it."""
    values: dict[int, Tensor] = {}
    scene = first.scene
    vectors = next((visit.output for visit in first.visits if _is_leaf(visit, scene.leaf)), None)
    if vectors is None or scene.leaf is None:
        return ""
    values[id(scene.leaf)] = vectors
    for visit in first.visits:
        if isinstance(visit.meaning, Series) and visit.meaning.axes == ("B", "T", "F"):
            if visit.output._version != visit.version:  # written into since
                continue
            ours = _value(visit.meaning.node, values, scene.positions)
            if ours is not None and float((ours - visit.output).abs().max()) > allowed * float(
                visit.output.abs().max()
            ):
                return visit.name
    return ""


def _is_leaf(visit: Any, leaf: Node | None) -> bool:
    return isinstance(visit.meaning, Series) and visit.meaning.node is leaf and visit.meaning.axes == ("B", "T", "F")


def _value(node: Node, values: dict[int, Tensor], positions: Tensor | None) -> Tensor | None:
    """A node at every step [batch, time, unit], by the same operations on plain tensors."""
    if id(node) in values:
        return values[id(node)]
    given: Sequence[Tensor | None] = [_value(below, values, positions) for below in node.inputs]
    if any(value is None for value in given) or not node.inputs:
        return None
    (first, *_) = given
    assert first is not None
    if node.cell is not None:
        batch = len(first)
        cell = with_room(node.cell, first.shape[1])
        assert cell is not None
        state = cell.zero_state(batch) if node.start is None else tuple(s.expand(batch, -1) for s in node.start)
        made = unroll(cell, first, state, reverse=node.reverse).states["hidden"]
    elif node.op == "positions":
        assert positions is not None
        made = first + positions
    else:
        if node.op not in OPERATIONS:  # as a softmax at the end
            return None
        made = compute(Plain(), node, {id(b): v for b, v in zip(node.inputs, given, strict=True)}, node.weights)
    values[id(node)] = made
    return made
