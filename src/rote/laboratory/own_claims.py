"""A user's own claims about any study, measurement or run, from a TOML file, judged as those of the sources are.

    [[claim]]
    id = "gru-beats-lstm"
    statement = "A GRU tags better than an LSTM."
    study = "tagging"
    part = [{label = "GRU minus LSTM", table = "networks", value = "accuracy", where = {cell = "gru"},
             minus = {cell = "lstm"}, above = 0.0}]

Of a part: ``where`` chooses the rows, one for each seed; ``minus`` the rows whose value is subtracted, ``over`` those
that it is divided by (the logarithm of the ratio is judged). ``above``, ``below`` or ``inside = [a, b]`` is the region;
``seeds``: some, most, nearly all; ``role``: part, condition, rival, report. ``scale``: real, log, unit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from rote.claims import Assertion, Claim, PerSeed, Region, above, below, column, inside
from rote.claims.claim import Role
from rote.claims.counting import Quantifier
from rote.errors import UnknownNameError, UsageError
from rote.laboratory.bodies import Body, body_of_claims
from rote.laboratory.kept_results import packaged
from rote.laboratory.ledger import Entry, entries_of_claims, latest_runs
from rote.laboratory.study import Study, studies
from rote.store import Store

CLAIM = {"id", "statement", "study", "part", "place", "published", "remark"}
PART = {"label", "table", "value", "where", "minus", "over", "above", "below", "inside", "seeds", "role", "scale"}


def judged_file(store: Store, path: Path, run: str | None = None, study: str | None = None) -> list[Entry]:
    """The verdicts on the claims of a file: on the named run, or on all runs of each claim's study, here and kept."""
    claims = read_claims(path)
    if study is not None:
        claims = {claim: of for claim, of in claims.items() if of == study}
    entries = []
    for claim, of in claims.items():
        if run is not None:
            found = store.load(run)
            bodies = [body_of_claims([claim], found, None, "here")]
            entries += entries_of_claims(found.record.request.study, [claim], bodies)
            continue
        if of is None:
            raise UsageError(f'The claim {claim.id!r} of {path} names no study: add study = "...", or give --run ID.')
        entries += entries_of_claims(of, [claim], _bodies(store, studies[of](), claim))
    return entries


def _bodies(store: Store, study: Study[Any], claim: Claim) -> list[Body]:
    kept = [result for result in packaged() if result.record.request.study == study.name]
    runs = latest_runs(store, study)
    return [
        *(body_of_claims([claim], result, study, "kept") for result in kept),
        *(body_of_claims([claim], run, study, "here") for run in runs),
    ]


def read_claims(path: Path) -> dict[Claim, str | None]:
    """The claims of a file, each with the study that it is about. What is wrong is named with its place."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The file {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The file {path} is no TOML: {error}.") from None
    listed = plain.get("claim")
    if not isinstance(listed, list) or not listed or set(plain) != {"claim"}:
        raise UsageError(f"The file {path} must consist of [[claim]] tables. See: rote claims --help")
    claims: dict[Claim, str | None] = {}
    for number, item in enumerate(listed, start=1):
        claim, study = _claim(item, f"claim {number} of {path}")
        if claim.id in {other.id for other in claims}:
            raise UsageError(f"Two claims of {path} are called {claim.id!r}.")
        claims[claim] = study
    return claims


def _claim(item: Any, place: str) -> tuple[Claim, str | None]:
    _check_keys(item, CLAIM, place)
    parts = item.get("part")
    if not isinstance(item.get("id"), str) or not isinstance(parts, list) or not parts:
        raise UsageError(f"{place} needs an id and a list of parts.")
    study = item.get("study")
    if study is not None and study not in studies:
        raise UnknownNameError("study", str(study), studies)
    assertions = tuple(_assertion(part, f"part {number} of {place}") for number, part in enumerate(parts, start=1))
    words = {name: str(item.get(name, "")) for name in ("place", "statement", "published", "remark")}
    try:
        claim = Claim(
            item["id"], "yours", words["place"] or "your file", words["statement"] or item["id"], words["published"],
            assertions, kind="ours", remark=words["remark"],
        )  # fmt: skip
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    return claim, study


def _assertion(part: Any, place: str) -> Assertion:
    _check_keys(part, PART, place)
    for name in ("label", "table", "value"):
        if not isinstance(part.get(name), str):
            raise UsageError(f'{place} needs {name} = "...".')
    seeds = _one_of(part.get("seeds", "most"), get_args(Quantifier), "seeds", place)
    role = _one_of(part.get("role", "part"), get_args(Role), "role", place)
    scale = _one_of(part.get("scale", "log" if "over" in part else "real"), ("real", "log", "unit"), "scale", place)
    return Assertion(part["label"], _values(part, place), _region(part, place), seeds, role, scale)


def _values(part: Mapping[str, Any], place: str) -> PerSeed:
    chosen = {name: part[name] for name in ("where", "minus", "over") if name in part}
    if wrong := [name for name, labels in chosen.items() if not isinstance(labels, dict)]:
        raise UsageError(f"'{wrong[0]}' of {place} must be labels, as {{cell = \"gru\"}}.")
    if "minus" in chosen and "over" in chosen:
        raise UsageError(f"{place} has both 'minus' and 'over'. Give one.")
    values = column(part["table"], part["value"], **chosen.get("where", {}))
    if "minus" in chosen:
        return values - column(part["table"], part["value"], **chosen["minus"])
    return values.log_ratio(column(part["table"], part["value"], **chosen["over"])) if "over" in chosen else values


def _region(part: Mapping[str, Any], place: str) -> Region:
    given = [name for name in ("above", "below", "inside") if name in part]
    if len(given) != 1:
        raise UsageError(f"{place} needs one of above, below and inside. Got {', '.join(given) or 'none'}.")
    value = part[given[0]]
    numbers = value if given[0] == "inside" else [value]
    if not isinstance(numbers, list) or any(
        isinstance(one, bool) or not isinstance(one, int | float) for one in numbers
    ):
        raise UsageError(f"'{given[0]}' of {place} must be {'two numbers' if given[0] == 'inside' else 'a number'}.")
    if given[0] != "inside":
        return above(value) if given[0] == "above" else below(value)
    if len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise UsageError(f"'inside' of {place} must be [a, b] with a below b. Got {numbers}.")
    return inside(*numbers)


def _one_of(value: Any, known: tuple[Any, ...], name: str, place: str) -> Any:
    if value not in known:
        raise UsageError(f"'{name}' of {place} must be one of {', '.join(known)}. Got {value!r}.")
    return value


def _check_keys(item: Any, known: set[str], place: str) -> None:
    if not isinstance(item, dict):
        raise UsageError(f"{place} is no table.")
    if unknown := sorted(set(item) - known):
        raise UnknownNameError(f"key in {place}:", unknown[0], sorted(known))
