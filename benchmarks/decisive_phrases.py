"""The explorer's first example of a decomposition: a text in which one word visibly decides what comes next.

    python benchmarks/decisive_phrases.py

Of each text below, each bundled model and each word before the last, at the last character: the share of the predicted
word's logit that comes from that word (the rest of the text has the other), times the model's own probability of the
prediction. Texts in which the decomposition is in doubt, or the model is not sure, do not count. The best one is
``rote.explorer.decomposition.EXAMPLE``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

import rote
from rote.explorer.contributions import contribution
from rote.explorer.reading import Reader
from rote.models.saved_autocomplete import BUNDLED

BEGUN = (
    "the leaders of the soviet u", "in the second world w", "the prime minister of the united k", "he lived in new y",
    "the film was made in los a", "she moved to the united s", "the pope of the roman c", "the capital of france is p",
    "the people of south a", "he studied at the university o", "during the cold w", "the history of great b",
    "the church of jesus c", "the prime m", "for the first t", "on the other h", "the speed of l", "the supreme c",
    "a member of the european u", "the works of william s", "made for computer s", "the world health o",
    "in the early nineteenth c", "at the end of the twentieth c",
)  # fmt: skip
TEXTS = BEGUN + tuple(text[:-1] for text in BEGUN)  # with a letter of the word, and without any
SURE, ERROR = 0.3, 1e-3  # the model's least probability of what it predicts, and the largest error of the parts


@dataclass(frozen=True)
class Decision:
    """What a word of a text does to the prediction at its end."""

    score: float
    model: str
    text: str
    phrase: tuple[int, int]
    at: int
    output: str
    chance: float
    phrase_logit: float
    rest_logit: float


def decisions(model: str, texts: tuple[str, ...] = TEXTS) -> list[Decision]:
    """Of one bundled model, the clearest first."""
    reader, found = Reader.of(rote.load_autocomplete(model)), []
    for text in texts:
        reading = reader.read(text)
        last = reading.time - 1
        with torch.no_grad():
            chance = float(reader.model(reading.tokens)[0, -1].softmax(-1).max())
        for word in range(reading.words[last]) if chance >= SURE else ():
            steps = [step for step, other in enumerate(reading.words) if other == word]
            parts = contribution(reader, text, (steps[0], steps[-1]))
            if parts.error > ERROR or parts.warning:
                continue
            phrase, rest = float(parts.phrase[-1]), float(parts.rest[-1])
            score = chance * phrase / (abs(phrase) + abs(rest))
            span = (steps[0], steps[-1])
            found.append(Decision(score, model, text, span, last, parts.outputs[-1], chance, phrase, rest))
    return sorted(found, key=lambda decision: -decision.score)


def main() -> None:
    found = sorted((one for model in BUNDLED for one in decisions(model)), key=lambda decision: -decision.score)
    for one in found[:12]:
        print(
            f"{one.score:6.3f}  {one.model:12} “{one.text}” {one.phrase}: {one.output} {one.chance:.3f}; "
            f"logit {one.phrase_logit:.2f} from it, {one.rest_logit:.2f} from the rest"
        )


if __name__ == "__main__":
    main()
