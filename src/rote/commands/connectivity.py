"""Connectivity of a text in the terminal: the text in color, one row per model; numbers where there is no color."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional

from rote.commands.options import Imports, Json, Maybe, option, out_console, print_json
from rote.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rote.explorer.reading import Reader
    from rote.explorer.text_connectivity import Linked

BAR = 24  # cells of the color bar
NAMED = 4  # words that are named as the strongest
# From paper to the strongest, as in the explorer: blue above 0, orange below.
SHADES = {
    "light": (("#ffffff", "#d8e8f3", "#9cc6e3", "#4f99cb"), ("#ffffff", "#fde3cd", "#f9bd8b", "#ee8a3d")),
    "dark": (("#171b21", "#18324a", "#1d4f79", "#2a78b5"), ("#171b21", "#3f2713", "#6f3c10", "#b85a10")),
}
INK = {"light": "#14181d", "dark": "#ffffff"}


@dataclass(frozen=True)
class Connectivity:
    """Which characters does a prediction rest on? The text in color, for one or several models.

    The chosen character is underlined; the characters before it are shaded by how strongly the model's output there
    depends on them. Without colors (a pipe, NO_COLOR) the numbers are printed instead.

    Try:
      rote connectivity "the united states of am"
      rote connectivity "a young age through advanced learning" --at 31 --model gru,lstm,nested_lstm
      rote connectivity "a young age through advanced le" --target learning --words
      rote connectivity "the united st" --json
      rote connectivity "the united st" --model my-mamba
    """

    text: Annotated[Positional[tuple[str, ...]], option("TEXT", "What the model reads, in quotes.")]
    model: Annotated[
        str,
        option(
            "NAME,...", "gru, lstm, nested_lstm, paths of saved models (./gru is a file), or folders of Hugging Face."
        ),
    ] = "gru"
    at: Annotated[
        Maybe[int], option("N", "The output after so many characters; 0: the space before. Default: the last.")
    ] = None
    target: Annotated[
        Maybe[str], option("WORD", "The word asked about. Default: the text's own; at its end, the first suggestion.")
    ] = None
    norm: Annotated[Literal["l2", "squared", "signed"], option("NAME", "l2, squared or signed. Default: l2.")] = "l2"
    wrt: Annotated[
        Literal["one_hot", "embedding"], option("NAME", "Gradient at: one_hot or embedding. Default: one_hot.")
    ] = "one_hot"
    of: Annotated[
        Literal["logit", "log_probability"], option("NAME", "Of the logit or the log_probability. Default: logit.")
    ] = "logit"
    words: Annotated[bool, option(None, "Shade whole words instead of characters.")] = False
    top: Annotated[int, option("N", "Suggestions that are shown. Default: 5.")] = 5
    theme: Annotated[
        Literal["auto", "light", "dark"], option("NAME", "The terminal's background: auto, light or dark.")
    ] = "auto"
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.config import each_once
        from rote.explorer.reading import LIMIT
        from rote.explorer.text_connectivity import Ask, link

        text, names = " ".join(self.text), [name.strip() for name in self.model.split(",") if name.strip()]
        if not text.strip():
            raise UsageError('The text is empty. Give one in quotes: rote connectivity "the united states"')
        if not names:
            raise UsageError("'--model' names no model. Known: gru, lstm, nested_lstm.")
        each_once("--model", names)
        if self.json and (self.words or self.theme != "auto"):
            raise UsageError("'--words' and '--theme' shade what is printed for people: leave them out with --json.")
        if not 1 <= self.top <= 20:
            raise UsageError(f"'--top' must lie in 1 to 20. Got {self.top}.")
        readers = {name: _reader(name) for name in names}
        read, *others = (reader.read(text, LIMIT) for reader in readers.values())
        if any(other.symbols != read.symbols for other in others):
            raise UsageError("The models of '--model' read the text as different tokens: give them one at a time.")
        at = self._place(read.time)
        ask: Ask = "word" if self.target else "choice" if at == read.time - 1 else "text"  # the end is being typed
        found = {
            name: link(reader, text, wrt=self.wrt, norm=self.norm, of=self.of, ask=ask, word=self.target, top=self.top)
            for name, reader in readers.items()
        }
        if self.json:
            print_json([self._plain(name, linked, at) for name, linked in found.items()])
        else:
            self._show(out_console(), found, at)
        return 0

    def _place(self, time: int) -> int:
        if self.at is None:
            return time - 1
        if not 0 <= self.at < time:
            raise UsageError(f"'--at' must lie in 0 to {time - 1}, the characters of the text. Got {self.at}.")
        return self.at

    def _plain(self, name: str, linked: Linked, at: int) -> dict[str, Any]:
        reading = linked.reading
        words = zip(linked.suggested[at], linked.suggested_chances[at], strict=True)
        return {
            "model": name, "at": at, "read": "".join(reading.symbols[: at + 1]), "asked": linked.asked[at],
            "own_choice": linked.own[at], "rank": linked.ranks[at], "probability": linked.chances[at],
            "suggestions": [{"word": word, "probability": chance} for word, chance in words],
            "norm": self.norm, "wrt": self.wrt, "of": self.of, "symbols": list(reading.symbols),
            "values": linked.values[at].tolist(),
            "words": [{"word": word, "value": value} for word, value in linked.by_word(at, self.norm)],
            "notes": list(reading.notes),
        }  # fmt: skip

    def _show(self, console: Console, found: dict[str, Linked], at: int) -> None:
        from rich.text import Text

        many = console.color_system in ("256", "truecolor", "windows")  # eight colors are too few for shades
        colored = console.is_terminal and not console.no_color and many
        theme = _theme() if self.theme == "auto" else self.theme
        for note in next(iter(found.values())).reading.notes:
            console.print(note, markup=False, highlight=False, style="yellow")
        for name, linked in found.items():
            console.print(Text(name, style="bold"))
            words = zip(linked.suggested[at], linked.suggested_chances[at], strict=True)
            console.print("  ".join(f"{word} {chance:.1%}" for word, chance in words), markup=False, highlight=False)
            own = " (the first suggestion)" if linked.own[at] else ""
            console.print(
                f"{linked.asked[at]}{own}: rank {linked.ranks[at]}, {linked.chances[at]:.2%}",
                markup=False, highlight=False, style="dim",
            )  # fmt: skip
            console.print(_strongest(linked.by_word(at, self.norm)), markup=False, highlight=False, style="dim")
            shares = self._shares(linked, at)
            if colored:
                console.print(_painted(linked, at, shares, theme))
                console.print()
            else:
                _print_numbers(console, linked, at, shares)
        if colored:
            console.print(_bar(theme, self.norm == "signed"))

    def _shares(self, linked: Linked, at: int) -> list[float]:
        """Of every character up to the output, over the largest."""
        values = linked.values[at, : at + 1].tolist()
        if self.words:
            whole = [value for _, value in linked.by_word(at, self.norm)]
            values = [whole[word - linked.reading.words[0]] for word in linked.reading.words[: at + 1]]
        most = max(map(abs, values)) or 1.0
        return [value / most for value in values]


def _reader(name: str) -> Reader:
    from rote.explorer.reading import Reader
    from rote.models import load_autocomplete
    from rote.models.pretrained import is_pretrained, load_pretrained

    if not is_pretrained(name):
        return Reader.of(load_autocomplete(name))
    found = load_pretrained(name)
    if found.vocabulary is None:
        raise UsageError(f"There is no tokenizer in {name!r}: tokenizer.save_pretrained(folder) writes one.")
    model: Any = found.model  # one that was not taken apart has outputs, which is all that is asked for here
    return Reader.of(model, found.vocabulary)


def _strongest(words: list[tuple[str, float]]) -> str:
    total = sum(abs(value) for _, value in words) or 1.0
    ranked = sorted(words, key=lambda item: -abs(item[1]))[:NAMED]
    return "rests on " + ", ".join(f"{word} {abs(value) / total:.0%}" for word, value in ranked)


def _painted(linked: Linked, at: int, shares: list[float], theme: str) -> Text:
    from rich.text import Text

    made = Text(end="")
    for step, symbol in enumerate(linked.reading.symbols):
        style = _style(shares[step], theme) if step <= at else "dim"
        made.append(symbol, f"{style} underline bold" if step == at else style)
    return made


def _print_numbers(console: Console, linked: Linked, at: int, shares: list[float]) -> None:
    from rote.commands.terminal import rows_as_table

    values = linked.values[at].tolist()
    rows = [
        {
            "at": step,
            "read": "space" if symbol == " " else symbol,
            "value": values[step],
            "of the largest": shares[step],
        }
        for step, symbol in enumerate(linked.reading.symbols[: at + 1])
    ]
    console.print(rows_as_table(rows), highlight=False)
    console.print()


def _bar(theme: str, signed: bool) -> Text:
    from rich.text import Text

    made = Text().append("−1 " if signed else "0 ", "dim")
    for cell in range(BAR):
        share = cell / (BAR - 1)
        made.append(" ", _style(2 * share - 1 if signed else share, theme))
    return made.append(" 1, of the largest", "dim")


def _style(share: float, theme: str) -> str:
    if abs(share) < 0.02:
        return "none"
    stops = SHADES[theme][share < 0]
    at = min(abs(share), 1.0) ** 0.8 * (len(stops) - 1)
    below = min(int(at), len(stops) - 2)
    parts = zip(_rgb(stops[below]), _rgb(stops[below + 1]), strict=True)
    mixed = "".join(f"{round(low + (high - low) * (at - below)):02x}" for low, high in parts)
    return f"{INK[theme]} on #{mixed}"


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _theme() -> str:
    """Some terminals say which background they have: COLORFGBG=0;15. Most have a dark one."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"
