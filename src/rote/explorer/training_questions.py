"""What the views that compute while they are looked at hold in a file: both playgrounds, chalk and the profiles.

A playground is trained up to the step of its link, as its page would, and its frames are kept as the page keeps them.
"""

from __future__ import annotations

from typing import Any, get_origin

from pydantic import ValidationError

from rote.chalk.stepping import PLAYER
from rote.errors import UsageError
from rote.explorer.chalk import EXAMPLES
from rote.explorer.messages import Body
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.recurrent_settings import RecurrentSettings

Values = dict[str, str]
FRAMES = 240  # at most, as lib/plane_settings.js keeps them
STEPS = 10_000
OPTIONS = {
    "recurrent": (*RecurrentSettings.model_fields, "step", "speed", "network", "item", "at"),
    "playground": (*PlaneSettings.model_fields, "step", "speed", "network", "measure", "information"),
    "chalk": ("example", "at"),
    "profiles": ("first", "second"),
}
MODULES = {"lib/graph_player.js": PLAYER}  # that the server has at another place


def recurrent(ask: Any, values: Values) -> Values:
    at = values.get("at")
    look = {
        "network": _whole(values, "network"),
        "item": _whole(values, "item"),
        "at": None if not at else _whole(values, "at"),
    }
    job = _trained(ask, "/api/recurrent", RecurrentSettings, values, look)
    ask.keep("/api/recurrent/whole", {}, ask.only("POST", "/api/recurrent/whole", {"job": job}))
    ask("GET", "/api/recurrent/tasks")
    ask.only("POST", "/api/recurrent/stop", {"job": job})
    return values


def playground(ask: Any, values: Values) -> Values:
    job = _trained(ask, "/api/playground", PlaneSettings, values, {"network": _whole(values, "network")})
    ask.only("POST", "/api/playground/stop", {"job": job})
    return values


def chalk(ask: Any, values: Values) -> Values:
    """All examples, the chosen one first: one that is unknown is told before the others are computed."""
    first = values.get("example", "square")
    for example in dict.fromkeys((first, *EXAMPLES)):
        ask("POST", "/api/chalk", {"example": example})
    return values


def profiles(ask: Any, values: Values) -> Values:
    found = [profile["key"] for profile in ask("GET", "/api/profiles")["profiles"]]
    if values.get("second"):
        pair = {"first": values.get("first") or found[0], "second": values["second"]}
        ask("POST", "/api/profiles/compare", pair)
    return values


def _trained(ask: Any, base: str, kind: type[Body], values: Values, look: dict[str, Any]) -> str:
    """A job that was trained up to the step; its frames are kept. The job is stopped by who asked for it."""
    body = {"settings": _settings(kind, values).model_dump(mode="json"), "look": look}
    first = ask.only("POST", f"{base}/start", body)
    until = _whole(values, "step")
    if until > STEPS:
        raise UsageError(f"'step' is {STEPS} at most. Got {until}.")
    frames, at = [first["frame"]], 0
    while at < until:
        updates = min(until - at, max(1, -(-at // 6)))
        frames.append(
            ask.only("POST", f"{base}/step", {"job": first["job"], "updates": updates, "look": look})["frame"]
        )
        at = frames[-1]["step"]
    kept = {key: first[key] for key in ("task", "points") if key in first}
    ask.keep(f"{base}/past", {}, {"frames": frames[-FRAMES:], "changes": [], **kept})
    return str(first["job"])


def _settings(kind: type[Body], values: Values) -> Body:
    """The settings of a link; lists are written with commas."""
    given: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if values.get(name):
            text = values[name]
            listed = get_origin(field.annotation) is tuple
            given[name] = ([] if text == "none" else text.split(",")) if listed else text
    try:
        return kind.model_validate(given, strict=False)
    except ValidationError as error:
        wrong = error.errors()[0]
        name = str(wrong["loc"][0])
        raise UsageError(f"The setting {name}={values[name]} cannot be used: {wrong['msg']}.") from None


def _whole(values: Values, name: str) -> int:
    text = values.get(name, "")
    if text and not text.isdigit():
        raise UsageError(f"The setting {name} is a whole number, as {name}=3. Got {text!r}.")
    return int(text or 0)


QUESTIONS = {"recurrent": recurrent, "playground": playground, "chalk": chalk, "profiles": profiles}
