"""What a user's module must be before it is examined: each failing is said in one line, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from rote.errors import UsageError
from rote.examination.fitted import Fitted, checked
from rote.examination.training import logits_of, made, made_network

SYMBOLS, LONGEST = 33, 64  # the largest vocabulary and, rounded up, the longest sequence of the battery
TOLERANCE = 1e-4  # of the largest logit: single precision, in another order
MOST = 5_000_000  # parameters that a processor can train in the time that anybody waits


def check_learner(name: str) -> int:
    """Refuse what the battery cannot train or would judge wrongly; returns the number of parameters, 0 for a learner
    that is no network and is fitted."""
    model = _built(name)
    if not isinstance(model, nn.Module):
        _check_fitted(name, model)
        return 0
    count = sum(weight.numel() for weight in model.parameters())
    if not count:
        raise UsageError(f"{name} has no parameters: there is nothing to train.")
    if count > MOST:
        raise UsageError(
            f"{name} has {count:,} parameters; the battery takes up to {MOST:,}. Make it narrower or less deep: what "
            "is examined is the architecture."
        )
    _check_same_weights(name, model)
    with torch.no_grad(), _asking(name):
        tokens = torch.randint(1, SYMBOLS, (4, LONGEST), generator=torch.Generator().manual_seed(0))
        model.eval()
        logits = _logits(name, model, tokens)
        _check_repeats(name, logits, _logits(name, model, tokens))
        _check_causal(name, model, tokens, logits)
        _check_rows(name, model, tokens, logits)
    return count


def _built(name: str) -> nn.Module | Fitted:
    try:
        model = made(name, SYMBOLS, 0)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{name}({SYMBOLS}) fails: {_told(error)} It is called with the vocabulary's size.") from error
    if not isinstance(model, nn.Module | Fitted):
        raise UsageError(
            f"{name}({SYMBOLS}) must give an nn.Module, or an object with 'fit' and 'probabilities'. Got "
            f"{type(model).__name__}."
        )
    return model


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
def _asking(name: str) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"The module of {name} fails on tokens [4, {LONGEST}] below {SYMBOLS}: {_told(error)} It must take tokens "
            "[batch, time] of up to 64 steps and give logits [batch, time, vocabulary]."
        ) from error


def _logits(name: str, model: nn.Module, tokens: Tensor) -> Tensor:
    logits = logits_of(model, tokens)
    wanted = (*tokens.shape, SYMBOLS)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != wanted:
        found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise UsageError(
            f"The module of {name} must give logits {list(wanted)} for tokens {list(tokens.shape)}: one number for "
            f"each symbol at each step. Got {found}."
        )
    if not bool(logits.isfinite().all()):
        raise UsageError(f"The module of {name} gives logits that are not finite before any training.")
    return logits


def _check_same_weights(name: str, model: nn.Module) -> None:
    again = made_network(name, SYMBOLS, 0)
    pairs = zip(model.state_dict().items(), again.state_dict().values(), strict=False)
    if other := [key for (key, one), two in pairs if one.shape != two.shape or not torch.equal(one, two)]:
        raise UsageError(
            f"The module of {name} has other weights ({other[0]}) when it is made again with the same seed. Draw them "
            "from torch's own generator: torch.manual_seed is called before."
        )


def _check_repeats(name: str, first: Tensor, second: Tensor) -> None:
    if not torch.equal(first, second):
        raise UsageError(
            f"The module of {name} answers otherwise when it is asked again in eval mode. Switch its randomness off "
            "there, as nn.Dropout does: self.training tells."
        )


def _check_causal(name: str, model: nn.Module, tokens: Tensor, logits: Tensor) -> None:
    half = LONGEST // 2
    other = tokens.clone()
    other[:, half:] = other[:, half:] % (SYMBOLS - 1) + 1
    if _differ(logits[:, :half], _logits(name, model, other)[:, :half]):
        raise UsageError(
            f"The module of {name} looks ahead: later tokens change earlier logits. Mask them, or make it causal."
        )


def _check_rows(name: str, model: nn.Module, tokens: Tensor, logits: Tensor) -> None:
    if _differ(logits[:1], _logits(name, model, tokens[:1])):
        raise UsageError(
            f"The module of {name} answers otherwise for a row alone than in a batch: rows must not see each other. "
            "Use another norm than one over the batch."
        )


def _differ(one: Tensor, two: Tensor) -> bool:
    return bool((one - two).abs().max() > TOLERANCE * one.abs().max().clamp(min=1.0))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}."
