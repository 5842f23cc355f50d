"""What a user's module must be before it is examined: each failing is said in one line, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from rote.errors import UsageError
from rote.examination.calling import logits_of
from rote.examination.fitted import Fitted, checked
from rote.examination.forms import Kind
from rote.examination.task import START
from rote.examination.training import made, made_network

SYMBOLS, LONGEST = 33, 64  # the largest vocabulary and, rounded up, the longest sequence of the battery
SHORTEST = {"tokens": 4, "seq2seq": 1, "classifier": 2}  # of its sequences
TOLERANCE = 1e-4  # of the largest logit: single precision, in another order
MOST = 5_000_000  # parameters that a processor can train in the time that anybody waits
ANSWERS = 24  # of an encoder and a decoder
CALLED = {
    "tokens": "tokens [batch, time] of up to 64 steps and give logits [batch, time, vocabulary]",
    "seq2seq": "source [batch, time] and target [batch, answers] and give logits [batch, answers, vocabulary]",
    "classifier": "tokens [batch, time] and lengths [batch] and give logits [batch, vocabulary]",
}


def check_learner(name: str, kind: Kind = "tokens") -> int:
    """Refuse what the battery cannot train or would judge wrongly; returns the number of parameters, 0 for a learner
    that is no network and is fitted."""
    model = _built(name, kind)
    if not isinstance(model, nn.Module):
        if kind == "seq2seq":
            raise UsageError(f"{name} is fitted, and reads one sequence: leave the kind {kind!r} out.")
        _check_fitted(name, model)
        return 0
    if any(isinstance(weight, UninitializedParameter) for weight in model.parameters()):
        raise UsageError(f"{name} has parameters without a shape. Give its lazy modules their sizes.")
    count = sum(weight.numel() for weight in model.parameters())
    if not count:
        raise UsageError(
            f"{name} has no parameters: there is nothing to train. Give it weights, or return an object with 'fit' and "
            "'probabilities', if it learns without."
        )
    if count > MOST:
        raise UsageError(
            f"{name} has {count:,} parameters; the battery takes up to {MOST:,}. Make it narrower or less deep: what "
            "is examined is the architecture."
        )
    _check_weights(name, model, kind)
    with torch.no_grad(), _asking(name, kind):
        read = _read(kind)
        model.eval()
        logits = _logits(name, kind, model, *read)
        _check_repeats(name, logits, _logits(name, kind, model, *read))
        if kind != "classifier":  # which may look in both directions
            _check_causal(name, kind, model, read, logits)
        _check_rows(name, kind, model, read, logits)
        if kind != "tokens":
            _check_filled(name, kind, model, read)
    _check_learns(name, kind, model, read)
    return count


def _read(kind: Kind) -> tuple[Tensor, ...]:
    """What a module of this kind is asked with."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, SYMBOLS, (4, LONGEST), generator=generator)
    if kind == "tokens":
        return (tokens,)
    if kind == "classifier":
        return tokens, torch.full((4,), LONGEST)
    target = torch.randint(1, SYMBOLS, (4, ANSWERS), generator=generator)
    target[:, 0] = START
    return tokens, target


def _built(name: str, kind: Kind) -> nn.Module | Fitted:
    sizes = f"{SYMBOLS}, {SYMBOLS}" if kind == "seq2seq" else f"{SYMBOLS}"
    before = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        model = made(name, SYMBOLS, 0, kind)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        called = "the sizes of both vocabularies" if kind == "seq2seq" else "the vocabulary's size"
        other = _of_two_inputs(kind, error)
        raise UsageError(f"{name}({sizes}) fails: {_told(error)} It is called with {called}.{other}") from error
    if before != (torch.get_default_dtype(), torch.is_grad_enabled()):
        torch.set_default_dtype(before[0])
        torch.set_grad_enabled(before[1])
        raise UsageError(
            f"{name} changes torch's default dtype, or switches gradients off, for all other modules. Do so for its "
            "own alone: module.to(dtype), or torch.no_grad() as a context."
        )
    if not isinstance(model, nn.Module | Fitted):
        raise UsageError(
            f"{name}({sizes}) must give an nn.Module, or an object with 'fit' and 'probabilities'. Got "
            f"{type(model).__name__}."
        )
    return model


def _of_two_inputs(kind: Kind, error: BaseException) -> str:
    """What to do about a module that is of another kind than its user said."""
    if kind != "tokens" or not (isinstance(error, TypeError) and "missing 1 required positional" in str(error)):
        return ""
    return " One of two inputs is of the kind 'seq2seq' (source, target) or 'classifier' (tokens, lengths)."


def _check_fitted(name: str, learner: Fitted) -> None:
    tokens = np.random.default_rng(0).integers(1, SYMBOLS, (4, LONGEST))
    with _asking(name):
        learner.fit(tokens, tokens)
        chances, other = checked(learner, tokens), tokens.copy()
        half = LONGEST // 2
        other[:, half:] = other[:, half:] % (SYMBOLS - 1) + 1
        ahead = np.abs(chances - checked(learner, other))[:, :half].max() > TOLERANCE
    if chances.shape[2] != SYMBOLS:
        raise UsageError(f"'probabilities' of {name} must have {SYMBOLS} symbols. Got {chances.shape[2]}.")
    if ahead:
        raise UsageError(f"{name} looks ahead: later tokens change earlier probabilities.")


@contextmanager
def _asking(name: str, kind: Kind = "tokens", length: int = LONGEST) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"The module of {name} fails on tokens [4, {length}] below {SYMBOLS}: {_told(error)} It must take "
            f"{CALLED[kind]}.{_of_two_inputs(kind, error)}"
        ) from error


def _logits(name: str, kind: Kind, model: nn.Module, *read: Tensor) -> Tensor:
    logits = logits_of(model, *read)
    places = read[0].shape[:1] if kind == "classifier" else read[-1].shape
    wanted = (*places, SYMBOLS)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != wanted:
        found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise UsageError(
            f"The module of {name} must give logits {list(wanted)} for tokens {list(read[0].shape)}: one number for "
            f"each symbol{'' if kind == 'classifier' else ' at each step'}. Got {found}."
        )
    if not bool(logits.isfinite().all()):
        raise UsageError(f"The module of {name} gives logits that are not finite before any training.")
    return logits


def _check_weights(name: str, model: nn.Module, kind: Kind) -> None:
    """They are a seed's, and another seed's are others."""
    if other := _other_weights(model, made_network(name, SYMBOLS, 0, kind)):
        raise UsageError(
            f"The module of {name} has other weights ({other[0]}) when it is made again with the same seed. Draw them "
            "from torch's own generator: torch.manual_seed is called before."
        )
    if not _other_weights(model, made_network(name, SYMBOLS, 1, kind)):
        raise UsageError(
            f"The module of {name} has the same weights with every seed, so that its trainings would tell little. Draw "
            "them from torch's own generator, and do not call torch.manual_seed."
        )


def _other_weights(one: nn.Module, two: nn.Module) -> list[str]:
    pairs = zip(one.state_dict().items(), two.state_dict().values(), strict=False)
    return [key for (key, mine), other in pairs if mine.shape != other.shape or not torch.equal(mine, other)]


def _check_learns(name: str, kind: Kind, model: nn.Module, read: tuple[Tensor, ...]) -> None:
    """An update can be made, from items as short as the battery's shortest."""
    short = SHORTEST[kind]
    lengths = (torch.full((4,), short),) if kind == "classifier" else ()
    asked = *(part[:, :short] for part in read if part.ndim == 2), *lengths
    model.train()
    with torch.enable_grad(), _asking(name, kind, short):
        logits = _logits(name, kind, model, *asked)
        if not logits.requires_grad:
            raise UsageError(
                f"The module of {name} has no parameter that learns: requires_grad is off, or it detaches."
            )
        logits.sum().backward()


def _check_repeats(name: str, first: Tensor, second: Tensor) -> None:
    if not torch.equal(first, second):
        raise UsageError(
            f"The module of {name} answers otherwise when it is asked again in eval mode. Switch its randomness off "
            "there, as nn.Dropout does: self.training tells."
        )


def _check_causal(name: str, kind: Kind, model: nn.Module, read: tuple[Tensor, ...], logits: Tensor) -> None:
    half = logits.shape[1] // 2
    other = read[-1].clone()
    other[:, half:] = other[:, half:] % (SYMBOLS - 1) + 1
    if _differ(logits[:, :half], _logits(name, kind, model, *read[:-1], other)[:, :half]):
        later, instead = ("tokens", ", or examine it as a 'classifier'") if kind == "tokens" else ("targets", "")
        raise UsageError(
            f"The module of {name} looks ahead: later {later} change earlier logits. Mask them, or make it "
            f"causal{instead}."
        )


def _check_rows(name: str, kind: Kind, model: nn.Module, read: tuple[Tensor, ...], logits: Tensor) -> None:
    if _differ(logits[:1], _logits(name, kind, model, *(part[:1] for part in read))):
        raise UsageError(
            f"The module of {name} answers otherwise for a row alone than in a batch: rows must not see each other. "
            "Use another norm than one over the batch."
        )


def _check_filled(name: str, kind: Kind, model: nn.Module, read: tuple[Tensor, ...]) -> None:
    """What fills a row up, since others in its batch are longer, must not count."""
    half = LONGEST // 2
    tokens, rest = read[0].clone(), read[1].clone()
    tokens[:1, half:] = START
    if kind == "classifier":
        rest[:1] = half
    if _differ(_logits(name, kind, model, tokens, rest)[:1], _logits(name, kind, model, tokens[:1, :half], rest[:1])):
        which = "what stands behind the lengths" if kind == "classifier" else "where the source is 0"
        raise UsageError(
            f"The module of {name} answers otherwise when a row is filled up with 0, as one beside longer rows is. "
            f"Mask {which}."
        )


def _differ(one: Tensor, two: Tensor) -> bool:
    return bool((one - two).abs().max() > TOLERANCE * one.abs().max().clamp(min=1.0))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}."
