"""How near to the source's own a run was: from its resolved settings, never from the name of a preset."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from rote.claims import Scale
from rote.config import dotted, flatten, resolve
from rote.laboratory.study import Study

UNCOUNTED = ("seeds", "first_seed")  # how many networks, not which


def scale_of(study: Study[Any], config: Mapping[str, Any]) -> Scale:
    """Of a run with this plain configuration, as a record has it."""
    settings = _comparable(study, {key: _as_tuple(value) for key, value in dotted(config).items()})
    altered = {name: _differences(settings, _settings(study, name)) for name in ("paper", "quick", "smoke")}
    stand_in = study.stands_in(config)
    if not altered["paper"]:
        return Scale("own" if study.own_scale else "published", stand_in=stand_in)
    for name in ("quick", "smoke"):
        if not altered[name]:
            return Scale(name, stand_in=stand_in)
    return Scale("altered", tuple(altered["paper"]), stand_in)


@functools.lru_cache(maxsize=256)
def _settings(study: Study[Any], preset: str) -> dict[str, Any]:
    """Without what a preset leaves to the machine, such as which data there are."""
    said = flatten(resolve(study.default, study.presets[preset]))
    settings = flatten(study.resolve(preset, {}))
    return _comparable(study, {key: value for key, value in settings.items() if said[key] == value})


def _comparable(study: Study[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {*UNCOUNTED, *study.optional, *study.fixed}
    return {key: value for key, value in settings.items() if key not in left_out}


def _differences(settings: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    """Those that both have: a record of an earlier version may lack a setting, or have one that is gone."""
    return [key for key, value in settings.items() if key in others and others[key] != value]


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
