"""Settings as frozen dataclasses: overridden by ``key=value`` with types checked, turned to and from plain data.

resolve(PlaneConfig(), {"model.hidden": "16"})       # from the command line: text, converted by the field's type
resolve(PlaneConfig(), {"model.hidden": 16})         # from a preset or a record: values, checked against it
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, SupportsFloat, TypeVar, Union, get_args, get_origin, get_type_hints

from rote.errors import SettingError, UnknownNameError, UsageError

C = TypeVar("C")
REPEATS = {"repeats": True}  # as metadata of a field: a list whose values may be equal, such as sizes of layers
# As metadata of a field that came later: at its default it is not in the plain form, so that what was made before keeps
# its identity.
UNSAID = {"unsaid at default": True}


def resolve(config: C, overrides: Mapping[str, object], *, typed: bool = True) -> C:
    """A copy of ``config`` with the dotted keys replaced; wrong keys and values raise before anything is changed.

    ``typed``: a text may come from a user's keyboard, where "none" means None. What a list names twice would count
    twice and is refused, except where the values come from a record.
    """
    known = keys(config)
    for key in overrides:
        if key not in known:
            inside = [other for other in known if other.startswith(key + ".")]
            if inside:
                raise UsageError(f"The key {key!r} is a group. Set one of its keys: {', '.join(inside)}.")
            raise UnknownNameError("key", key, known)
    values = {key: convert(key, value, known[key], typed=typed) for key, value in overrides.items()}
    for key, value in values.items():
        if typed and isinstance(value, tuple) and not _field(config, key).metadata.get("repeats"):
            each_once(key, value)
    made: C = _replace(config, values)
    return made


def keys(config: object, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> type, for every value that can be set."""
    kind: Any = type(config)
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for name, value in _fields(config):
        found |= keys(value, f"{prefix}{name}.") if dataclasses.is_dataclass(value) else {prefix + name: hints[name]}
    return found


def flatten(config: object) -> dict[str, object]:
    """Dotted key -> value, as ``rote show`` prints it."""
    flat: dict[str, object] = {}
    for key in keys(config):
        value: object = config
        for part in key.split("."):
            value = getattr(value, part)
        flat[key] = value
    return flat


def without_effect(config: object, prefix: str = "") -> dict[str, str]:
    """Dotted key -> why its value changes nothing. A group of settings that has such keys tells them by ``unused()``,
    field -> reason."""
    tells = getattr(config, "unused", None)
    found = {prefix + name: reason for name, reason in (tells() if tells else {}).items()}
    for name, value in _fields(config):
        if dataclasses.is_dataclass(value):
            found |= without_effect(value, f"{prefix}{name}.")
    return found


def to_plain(config: object) -> dict[str, Any]:
    """Nested dictionaries, lists and scalars: what a record stores."""
    plain: dict[str, Any] = _plain(config)
    return plain


def from_plain(config: C, plain: Mapping[str, Any]) -> C:
    """The inverse of ``to_plain``: the values of a record, put into a configuration of the same class."""
    return resolve(config, dotted(plain), typed=False)


def dotted(plain: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value, from the nested dictionaries of a record."""
    flat: dict[str, Any] = {}
    for name, value in plain.items():
        flat |= dotted(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def parse_overrides(words: Iterable[str]) -> dict[str, str]:
    """``["model.hidden=16"]`` -> ``{"model.hidden": "16"}``."""
    overrides: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"Expected key=value, for example training.steps=100. Got {word!r}.")
        if key in overrides:
            raise UsageError(f"The key {key!r} is set twice: to {overrides[key]!r} and to {value!r}.")
        overrides[key] = value
    return overrides


def convert(key: str, value: object, kind: Any, *, typed: bool = True) -> object:
    """``value`` as the annotated type ``kind``, from text or from plain data."""
    origin, choices = get_origin(kind), get_args(kind)
    if origin is Literal:
        for choice in choices:
            if value == choice or (isinstance(value, str) and value == str(choice)):
                return choice
        raise UnknownNameError("value", str(value), [str(choice) for choice in choices], f" of {key!r}")
    if origin in (Union, types.UnionType):
        if value is None or (typed and isinstance(value, str) and value.lower() == "none"):
            if type(None) in choices:
                return None
        else:
            return convert(key, value, next(choice for choice in choices if choice is not type(None)), typed=typed)
    if origin is tuple:
        items = (value.split(",") if value else ()) if isinstance(value, str) else value
        if isinstance(items, list | tuple):
            return tuple(convert(key, item, choices[0], typed=typed) for item in items)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, Mapping | kind):  # of a list
        return from_plain(kind(), value) if isinstance(value, Mapping) else value
    found = _scalar(value, kind)
    if found is None:
        raise UsageError(f"The key {key!r} takes {_describe(kind)}. Got {value!r}.")
    return found


def at_least(config: object, minimum: float, *names: str) -> None:
    """For ``__post_init__``: the named fields (``"task.bits"`` of a group), where they are set, must not be smaller."""
    for name in names:
        value = attrgetter(name)(config)
        for item in value if isinstance(value, tuple) else (value,):
            if item is not None and not item >= minimum:
                raise SettingError(name, f"must be at least {minimum:g}. Got {item!r}.")


def above_zero(config: object, *names: str) -> None:
    """For ``__post_init__``: the named fields, where they are set, must be positive."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise SettingError(name, f"must be above 0. Got {value!r}.")


def not_empty(config: object, *names: str) -> None:
    """For ``__post_init__``: lists that must name something."""
    for name in names:
        if not getattr(config, name):
            raise SettingError(name, "must name at least one. Got none.")


def each_once(name: str, values: Sequence[object]) -> None:
    """Refuse what is named twice: it would count twice, and its interval be too narrow."""
    for value in values:
        if values.count(value) > 1:
            raise SettingError(name, f"must name each value once. Got {value} {values.count(value)} times.")


def below_one(config: object, *names: str) -> None:
    """For ``__post_init__``: the named fields are shares that must leave something, such as dropout."""
    for name in names:
        value = getattr(config, name)
        if not 0 <= value < 1:
            raise SettingError(name, f"must be at least 0 and below 1. Got {value!r}.")


def one_of(name: str, value: C, known: Sequence[C]) -> C:
    """``value``, if it is among those that the argument ``name`` takes."""
    if value not in known:
        *others, last = map(repr, known)
        raise UsageError(f"{name!r} must be {', '.join(others)} or {last}. Got {value!r}.")
    return value


def _scalar(value: object, kind: Any) -> bool | int | float | str | None:
    """None for what is no value of this kind."""
    if kind is bool:
        spelled = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return value if isinstance(value, bool) else spelled.get(value.lower()) if isinstance(value, str) else None
    if kind is str:
        return value if isinstance(value, str) else None
    number = None if isinstance(value, bool) else _number(value)
    if number is None or abs(number) > sys.float_info.max:
        return None
    if kind is int and number == int(number):
        return int(number)
    return float(number) if kind is float else None


def _number(value: object) -> float | int | None:
    """Whole numbers exactly (a float holds 53 bits), others as floats; None for what is no finite number."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
    if isinstance(value, int):
        return value
    if not isinstance(value, str | float | SupportsFloat):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _describe(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a comma-separated list, each {_describe(get_args(kind)[0])}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join("none" if choice is type(None) else _describe(choice) for choice in get_args(kind))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(kind, str(kind))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        floats, unsaid = _float_fields(kind), _unsaid_fields(kind)
        return {
            # A whole number where the field is a float is the same setting, and must have the same identity.
            name: _as_floats(_plain(part)) if name in floats else _plain(part)
            for name, part in _fields(value)
            if not (name in unsaid and part == unsaid[name])
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _as_floats(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return float(value) if type(value) is int else value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@functools.cache
def _float_fields(kind: Any) -> frozenset[str]:
    hints = _hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    return frozenset(name for name in names if hints[name] is float or float in get_args(hints[name]))


@functools.cache
def _unsaid_fields(kind: Any) -> Mapping[str, object]:
    """Those that are left out at their default, with it."""
    return {field.name: field.default for field in dataclasses.fields(kind) if field.metadata == UNSAID}


def _replace(config: Any, values: Mapping[str, object], prefix: str = "") -> Any:
    changes: dict[str, object] = {}
    for name, value in _fields(config):
        if dataclasses.is_dataclass(value):
            changes[name] = _replace(value, values, f"{prefix}{name}.")
        elif prefix + name in values:
            changes[name] = values[prefix + name]
    try:
        return dataclasses.replace(config, **changes)
    except SettingError as error:
        raise error.in_group(prefix) from None


def _field(config: Any, key: str) -> dataclasses.Field[Any]:
    *groups, name = key.split(".")
    for group in groups:
        config = getattr(config, group)
    return next(field for field in dataclasses.fields(config) if field.name == name)


def _fields(config: Any) -> list[tuple[str, Any]]:
    return [(field.name, getattr(config, field.name)) for field in dataclasses.fields(config)]
