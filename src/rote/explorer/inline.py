"""A view of the explorer inside a notebook: the page, its modules and the answers to its questions in one document.

It needs no server and no network once it is made, so it stays in the notebook's file. It is what "Offline HTML" in the
explorer's menu writes (static/lib/bundle.js), made here because a notebook has no page to make it. The questions are
asked as the view itself would ask them; what it then asks beyond them needs the live explorer.
"""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rote import report
from rote.errors import RoteError, UnknownNameError, UsageError
from rote.explorer import training_questions, view_questions
from rote.explorer.views import STATIC, VIEWS
from rote.store.files import write_atomically

Ask = Callable[[str, str, Any], str]  # method, path, body -> the answer's text
HEIGHT, SECONDS = 760, 120.0  # pixels of the frame, and for one answer
PHRASES = 32  # words of a text that can be chosen as the phrase
_IMPORT = re.compile(r'(\bfrom\s*)"(\.{1,2}/[^"]+)"')
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_FIRST = {
    "connectivity": {"norm": "l2", "wrt": "one_hot", "of": "logit", "ask": "text"},
    "decomposition": {"rules": "shapley"},
}
_OPTIONS = {
    "connectivity": (
        "text", "models", "at", "pin", "view", "unit", "norm", "wrt", "of", "scale", "ask", "word", "walk"
    ),
    "autocomplete": ("text", "model", "word", "layer", "series"),
    "decomposition": (
        "text", "model", "phrase", "at", "look", "word", "rules", "unit"
    ),
    **view_questions.OPTIONS,
    **training_questions.OPTIONS,
}  # fmt: skip


@dataclass(frozen=True)
class Inline:
    """A view that a notebook shows; ``html`` is the document, ``save`` writes it."""

    html: str
    title: str
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        """In a frame without access to the notebook around it."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="{html.escape(self.title)}" width="100%" height="{self.height}" '
            'style="border: 0; resize: vertical; overflow: auto"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Inline({self.title}, {len(self.html) / 1e6:.1f} MB)"

    def save(self, path: Path | str) -> None:
        write_atomically(Path(path), self.html.encode())


def inline(ask: Ask, view: str, options: Mapping[str, Any], height: int = HEIGHT) -> Inline:
    """The view with these options, answered by ``ask``."""
    check_view(view, options)
    recorded = _Recorded(ask)
    values = {name: _spelled(value) for name, value in options.items() if value is not None}
    state = _QUESTIONS[view](recorded, values)
    title = next(found.title for found in VIEWS if found.name == view)
    return Inline(_document(view, title, state, recorded.answers), f"{title} · Rote explorer", height)


class _Recorded:
    """Questions whose answers the document holds, by question as lib/api.js has them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.answers: dict[str, str] = {}

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        self.answers[_question(method, path, body)] = text = self._ask(method, path, body)
        return json.loads(text)

    def only(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, which the document does not hold."""
        return json.loads(self._ask(method, path, body))

    def keep(self, path: str, body: Any, answer: Any) -> None:
        """What the view in the document will ask, and no server answers."""
        self.answers[_question("POST", path, body)] = json.dumps(answer, separators=(",", ":"))


def _question(method: str, path: str, body: Any) -> str:
    return f"{method} {path} {'' if body is None else json.dumps(body, separators=(',', ':'), ensure_ascii=False)}"


def check_view(view: str, options: Iterable[str]) -> None:
    """Refuse a view that cannot be one document, and options that it does not have."""
    if view in {one.name for one in VIEWS} - set(_OPTIONS):
        raise UsageError(f"The view {view!r} leads to the others. Name one of them: {', '.join(_OPTIONS)}.")
    if view not in _OPTIONS:
        raise UnknownNameError("view to save", view, _OPTIONS)
    for name in options:
        known = (*_OPTIONS[view], "present")
        if name not in known:
            raise UnknownNameError("option", name, known, f" of the view {view}")


def asking(url: str, token: str | None) -> Ask:
    """Questions to a running explorer."""
    headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback never goes through a proxy

    def ask(method: str, path: str, body: Any) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url.rstrip("/") + path, data, headers, method=method)
        try:
            with opener.open(request, timeout=SECONDS) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            raise UsageError(json.loads(error.read())["error"]) from None
        except OSError as error:
            raise RoteError(f"The explorer at {url} does not answer: {error}. Start it again: rote.explore()") from None

    return ask


def _connectivity(ask: Any, values: dict[str, str]) -> dict[str, str]:
    usable = _usable(ask)
    story = ask("GET", "/api/connectivity/walk")
    first = [model for model in usable if (model["kind"], model["group"]) == (usable[0]["kind"], usable[0]["group"])]
    shown = [model["key"] for model in first[:3]]
    if "text" not in values and usable[0]["kind"] == "autocomplete":  # each beside the article's, as the view opens
        own = {model["cell"]: model["key"] for model in story["stored"]}
        shown = [key for model in first[:3] for key in (model["key"], own.get(model["cell"])) if key]
    values = {"models": ",".join(shown), **values}
    if "text" not in values:
        values["text"] = story["text"] if usable[0]["kind"] == "autocomplete" else _example(ask, usable[0]["key"])
        values.setdefault("at", "106" if usable[0]["kind"] == "autocomplete" else "0")
    values.setdefault("at", str(len(values["text"])))
    settings = {name: values.get(name, default) for name, default in _FIRST["connectivity"].items()}
    for name in values["models"].split(","):
        body = {**_named(name), "text": values["text"], **settings}
        if settings["ask"] == "word":
            body["word"] = values.get("word", "")
        ask("POST", "/api/connectivity", body)
    return values


def _autocomplete(ask: Any, values: dict[str, str]) -> dict[str, str]:
    usable = _usable(ask)
    values = {"model": usable[0]["key"], "layer": "0", "series": "hidden", **values}
    values.setdefault(
        "text", "parts of north af" if usable[0]["kind"] == "autocomplete" else _example(ask, values["model"])
    )
    word = {"word": values["word"]} if values.get("word") else {}

    def expected(text: str, since: int) -> Any:
        series = {"layer": int(values["layer"]), "series": values["series"], "since": since}
        return ask("POST", "/api/autocomplete", {**_named(values["model"]), "text": text, **series, **word})

    symbols = expected(values["text"], 0)["symbols"]
    joint = "" if all(len(symbol) == 1 for symbol in symbols) else " "
    for end in range(1, len(symbols) + 1):  # what was expected after each of them
        expected(joint.join(symbols[:end]), len(symbols))
    return values


def _decomposition(ask: Any, values: dict[str, str]) -> dict[str, str]:
    usable = _usable(ask)
    values = {"model": usable[0]["key"], **values}
    if "text" not in values:
        if usable[0]["kind"] == "autocomplete":  # as the view opens
            example = ask.only("GET", "/api/decomposition/example")
            decisive = {"phrase": "-".join(map(str, example["phrase"])), "at": str(example["at"])}
            values = {**({} if "phrase" in values else decisive), **values, "text": example["text"]}
        else:
            values["text"] = _example(ask, values["model"])
    values.setdefault("phrase", "0-0")
    rules = {name: values.get(name, default) for name, default in _FIRST["decomposition"].items()}
    word = {"word": values["word"]} if values.get("look") == "word" and values.get("word") else {}
    question = {**_named(values["model"]), "text": values["text"], **rules}

    def phrase(start: int, end: int) -> Any:
        span = {"start": start, "end": end, "target": values.get("look") == "target"}
        return ask("POST", "/api/decomposition/phrase", {**question, **span, **word})

    start, end = _span(values["phrase"])
    found = phrase(start, end)
    last = len(found["symbols"]) - 1
    values.setdefault("at", str(last))
    unit = values.get("unit", "words")
    for at in {int(values["at"]), last}:
        size = at + 1 if unit == "symbols" else len(set(found["words"][: at + 1]))
        if size <= found["tree_limits"][unit]:
            ask("POST", "/api/decomposition/tree", {**question, "at": at, "unit": unit, **word})
    words = sorted(set(found["words"]))[:PHRASES]
    for number in words:
        steps = [step for step, other in enumerate(found["words"]) if other == number]
        phrase(steps[0], steps[-1])
    return values


_QUESTIONS = {"connectivity": _connectivity, "autocomplete": _autocomplete, "decomposition": _decomposition,
              **view_questions.QUESTIONS, **training_questions.QUESTIONS}  # fmt: skip


def _usable(ask: Any) -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = ask("GET", "/api/models")["models"]
    return models


def _example(ask: Any, key: str) -> str:
    return str(ask("POST", "/api/connectivity/symbols", {"model": key})["example"])


def _named(name: str) -> dict[str, Any]:
    """ "gru@1200": a model at a step of its training."""
    key, at, step = name.rpartition("@")
    return {"model": key, "checkpoint": int(step)} if at and step.isdigit() else {"model": name, "checkpoint": None}


def _span(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    if found is None:
        raise UsageError(f"'phrase' is the first and the last step, as '20-28' or (20, 28). Got {text!r}.")
    return int(found[1]), int(found[2])


def _spelled(value: Any) -> str:
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return "-".join(map(str, value))
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _document(view: str, title: str, values: Mapping[str, str], answers: Mapping[str, str]) -> str:
    house = Path(report.__file__).parent / "assets"
    sheets = [house / "page.css", house / "parts.css", STATIC / "style.css", STATIC / "views" / f"{view}.css"]
    styles = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    saved = {"name": view, "title": title, "values": values, "answers": answers, "when": when}
    return f"""<!doctype html>
<html lang="en" class="js">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title} · Rote explorer</title>
<style>{styles}</style>
<script type="importmap">{_embedded({"imports": _modules(f"views/{view}.js", "lib/offline.js")})}</script>
<script type="application/json" id="saved">{_embedded(saved)}</script>
</head>
<body>
<main id="view" tabindex="-1"></main>
<p class="hint" id="origin"></p>
<div id="announcer" class="hidden" role="status" aria-live="polite"></div>
<script type="module">
import {{ replay }} from "rote/lib/offline.js";
import {{ view }} from "rote/views/{view}.js";
replay(view, JSON.parse(document.getElementById("saved").textContent));
</script>
</body>
</html>
"""


def _modules(*start: str) -> dict[str, str]:
    """Every module that these need, as data addresses by the names under which the import map knows them."""
    found: dict[str, str] = {}
    pending = list(start)
    while pending:
        path = pending.pop()
        if f"rote/{path}" in found:
            continue
        source = training_questions.MODULES.get(path, STATIC / path).read_text(encoding="utf-8")
        folder = (STATIC / path).parent

        def renamed(match: re.Match[str], folder: Path = folder) -> str:
            target = (folder / match[2]).resolve().relative_to(STATIC.resolve()).as_posix()
            pending.append(target)
            return f'{match[1]}"rote/{target}"'

        text = _IMPORT.sub(renamed, source)
        found[f"rote/{path}"] = f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"
    return found


def _embedded(value: Any) -> str:
    """JSON in a script element: nothing in it can end the element."""
    return (
        json.dumps(value, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
