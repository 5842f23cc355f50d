"""Settings as frozen dataclasses: overridden by ``key=value`` with types checked, turned to and from plain data.

resolve(PlaneConfig(), {"model.hidden": "16"})       # from the command line: text, converted by the field's type
resolve(PlaneConfig(), {"model.hidden": 16})         # from a preset or a record: values, checked against it
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rote.errors import UnknownNameError, UsageError

C = TypeVar("C")


def resolve(config: C, overrides: Mapping[str, object], *, typed: bool = True) -> C:
    """A copy of ``config`` with the dotted keys replaced; wrong keys and values raise before anything is changed.

    ``typed``: a text may come from a user's keyboard, where "none" means None.
    """
    known = keys(config)
    for key in overrides:
        if key not in known:
            inside = [other for other in known if other.startswith(key + ".")]
            if inside:
                raise UsageError(f"The key {key!r} is a group. Set one of its keys: {', '.join(inside)}.")
            raise UnknownNameError("key", key, known)
    values = {key: convert(key, value, known[key], typed=typed) for key, value in overrides.items()}
    return typing.cast(C, _replace(config, values))


def keys(config: object, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> type, for every value that can be set."""
    hints = get_type_hints(type(config))
    found: dict[str, Any] = {}
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            found |= keys(value, f"{prefix}{field.name}.")
        else:
            found[prefix + field.name] = hints[field.name]
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


def to_plain(config: object) -> dict[str, Any]:
    """Nested dictionaries, lists and scalars: what a record stores."""
    return typing.cast("dict[str, Any]", _plain(config))


def from_plain(config: C, plain: Mapping[str, Any]) -> C:
    """The inverse of ``to_plain``: the values of a record, put into a configuration of the same class."""

    def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
        flat: dict[str, object] = {}
        for name, value in tree.items():
            flat |= dotted(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
        return flat

    return resolve(config, dotted(plain), typed=False)


def parse_overrides(words: typing.Iterable[str]) -> dict[str, str]:
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
    if kind is bool:
        spelled = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in spelled:
            return spelled[value.lower()]
    elif kind is int and not isinstance(value, bool):
        number = _number(value)
        if number is not None and number == int(number):
            return int(number)
    elif kind is float and not isinstance(value, bool):
        number = _number(value)
        if number is not None and abs(number) <= sys.float_info.max:
            return float(number)
    elif kind is str and isinstance(value, str):
        return value
    raise UsageError(f"The key {key!r} takes {_describe(kind)}. Got {value!r}.")


def at_least(config: object, minimum: float, *names: str) -> None:
    """For ``__post_init__``: the named fields, where they are set, must not be smaller than ``minimum``."""
    for name in names:
        value = getattr(config, name)
        for item in value if isinstance(value, tuple) else (value,):
            if item is not None and not item >= minimum:
                raise UsageError(f"{name!r} of {type(config).__name__} must be at least {minimum:g}. Got {item!r}.")


def _number(value: object) -> float | int | None:
    """Whole numbers exactly (a float holds 53 bits), others as floats; None for what is no finite number."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
    if isinstance(value, int):
        return value
    try:
        number = float(value)  # type: ignore[arg-type]
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


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _replace(config: object, values: Mapping[str, object], prefix: str = "") -> object:
    changes: dict[str, object] = {}
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value, key = getattr(config, field.name), prefix + field.name
        if dataclasses.is_dataclass(value):
            changes[field.name] = _replace(value, values, key + ".")
        elif key in values:
            changes[field.name] = values[key]
    return dataclasses.replace(config, **changes)  # type: ignore[type-var]
