"""Requests drawn from the explorer's OpenAPI schema: valid ones, nearly valid ones, and rubbish."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]
Names = Mapping[str, Sequence[Any]]  # by property: values that mean something on this server

TEXT = st.one_of(st.text("abcdefghij st", max_size=40), st.text(max_size=20))
RUBBISH = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    TEXT,
    st.just("x" * 5000),
    st.just("../" * 9),
    st.just("\ud800"),
    st.lists(st.none(), max_size=3),
    st.dictionaries(TEXT, st.integers(), max_size=2),
    st.recursive(st.none(), lambda inner: st.lists(inner, min_size=1, max_size=2), max_leaves=20),
)


FRAMES = 2  # of a stream


@dataclass(frozen=True)
class Drawn:
    """One request; ``content`` is sent as it is."""

    method: str
    path: str
    content: bytes
    kind: str = "application/json"


def operations(schema: Schema) -> list[tuple[str, str, Schema]]:
    return [(method.upper(), path, told) for path, ways in schema["paths"].items() for method, told in ways.items()]


def mostly(first: st.SearchStrategy[Any], other: st.SearchStrategy[Any], of_ten: int) -> st.SearchStrategy[Any]:
    """Weights; one_of takes a strategy that is named several times only once."""
    return st.integers(1, 10).flatmap(lambda number: first if number <= of_ten else other)


def requests(schema: Schema, names: Names) -> st.SearchStrategy[Drawn]:
    """Any request to any route."""
    return st.one_of([_requests(schema, names, *operation) for operation in operations(schema)])


def _requests(schema: Schema, names: Names, method: str, path: str, told: Schema) -> st.SearchStrategy[Drawn]:
    if method == "GET":
        asked = [item["name"] for item in told.get("parameters", ())]
        query = st.sampled_from(["", *(f"?{name}={value}" for name in asked for value in ("", "quick", "huge", "%00"))])
        return query.map(lambda text: Drawn(method, path + text, b""))
    body = told["requestBody"]["content"]["application/json"]["schema"]
    valid = values(schema, body, names)
    spoiled = st.tuples(valid, st.randoms(use_true_random=False), RUBBISH).map(_spoiled)
    content = mostly(valid, st.one_of(spoiled, RUBBISH), 6).map(lambda value: _encoded(_bounded(path, value)))
    bodies = mostly(content, st.binary(max_size=60), 9)
    kinds = mostly(st.just("application/json"), st.sampled_from(["text/plain", ""]), 9)
    return st.tuples(bodies, kinds).map(lambda drawn: Drawn(method, path, *drawn))


def values(schema: Schema, part: Schema, names: Names, name: str = "") -> st.SearchStrategy[Any]:
    """What a part of the schema allows; existing names where the property has some."""
    if "$ref" in part:
        return values(schema, schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]], names, name)
    if name in names and part.get("type") != "array":
        return mostly(st.sampled_from(names[name]), TEXT, 9)
    if "anyOf" in part:
        return st.one_of([values(schema, choice, names, name) for choice in part["anyOf"]])
    if "enum" in part or "const" in part:
        return st.sampled_from(part.get("enum", [part.get("const")]))
    match part.get("type"):
        case "string":
            return TEXT.map(lambda text: text[: part.get("maxLength", 40)])
        case "integer":
            return _numbers(part, st.integers)
        case "number":
            return st.floats(part.get("minimum", -1e6), part.get("maximum", 1e6), allow_nan=False)
        case "boolean":
            return st.booleans()
        case "array":
            items = values(schema, part.get("items", {}), names, name)
            return st.lists(items, min_size=part.get("minItems", 0), max_size=min(4, part.get("maxItems", 4)))
        case "object":
            return _objects(schema, part, names)
    return st.none()


def _numbers(part: Schema, draw: Any) -> st.SearchStrategy[Any]:
    """Near the lower end, where the work is small, and at both ends."""
    low, high = part.get("minimum", -100), part.get("maximum", 10**6)
    return mostly(draw(low, min(high, low + 20)), st.sampled_from([low, high]), 9)


def _objects(schema: Schema, part: Schema, names: Names) -> st.SearchStrategy[Any]:
    made = {key: values(schema, inner, names, key) for key, inner in part.get("properties", {}).items()}
    needed = set(part.get("required", ()))
    return st.fixed_dictionaries(
        {key: made[key] for key in made if key in needed},
        optional={key: made[key] for key in made if key not in needed},
    )


def _spoiled(drawn: tuple[Any, Any, Any]) -> Any:
    """One property replaced, left out, or one too many."""
    value, random, rubbish = drawn
    if not isinstance(value, dict) or not value:
        return rubbish
    key = random.choice([*value, "surplus"])
    if random.random() < 0.3:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: rubbish}


def _bounded(path: str, value: Any) -> Any:
    """A stream that only its reader ends would last for ever here, and the other routes need the jobs that run."""
    if path.endswith("/stop") and isinstance(value, dict) and "job" in value:
        return {**value, "job": "another"}
    if path.endswith("/play") and isinstance(value, dict) and _many(value.get("frames", FRAMES + 1)):
        return {**value, "frames": FRAMES}
    return value


def _many(frames: Any) -> bool:
    """Whatever the server would take for a number: 65536.0 and "12" too."""
    try:
        return float(frames) > FRAMES
    except (TypeError, ValueError):
        return False


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()
