"""Trials that Optuna proposes, each from the scores of those before it: one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rote.errors import UsageError
from rote.laboratory.search_space import Choice, Trial
from rote.laboratory.sweep import Outcome, Sweep


def proposed(asked: Sweep, tried: Callable[[Trial], Outcome]) -> list[Outcome]:
    """The sampler is seeded and the runs are reproducible, so that a stopped sweep proposes the same again."""
    optuna = imported()
    direction = "maximize" if asked.compared.best == "max" else "minimize"
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.TPESampler(seed=asked.seed))
    found: dict[tuple[str, ...], Outcome] = {}
    for _ in range(asked.count):
        now = study.ask()
        trial = _suggested(now, asked)
        known = tuple(trial.values())
        if known not in found:
            found[known] = tried(trial)
        score = found[known].score
        if score is None:
            study.tell(now, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(now, score)
    return list(found.values())


def imported() -> Any:
    try:
        import optuna
    except ImportError:
        raise UsageError(
            "The method 'optuna' needs the package optuna. Install it with: pip install 'rote[sweep]', or use "
            "--method random."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _suggested(now: Any, asked: Sweep) -> Trial:
    trial: Trial = {}
    for key, values in asked.space.items():
        if isinstance(values, Choice):
            trial[key] = now.suggest_categorical(key, values.values)
        elif values.whole:
            trial[key] = str(now.suggest_int(key, int(values.low), int(values.high), log=values.logarithmic))
        else:
            trial[key] = values.written(now.suggest_float(key, values.low, values.high, log=values.logarithmic))
    return trial
