"""A guided walk over the paragraph of source 003: the three situations that its article describes, in our words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rote.explorer.stored_matrices import listings, ranks
from rote.studies.memorization.published import PARAGRAPH


@dataclass(frozen=True)
class Place:
    at: int  # the character, from 0
    label: str


@dataclass(frozen=True)
class Situation:
    title: str
    article: str  # what the article reports of its three networks
    look: str  # what to look for in the rows below, whatever models they show
    places: tuple[Place, ...]


SITUATIONS = (
    Situation(
        "“learning”, two letters known",
        "In the article the GRU and the LSTM offer “learning” after “le”, the GRU with more confidence; the Nested "
        "LSTM offers only common words with an l.",
        "Is “advanced” shaded? A model that reads the word before can know more than the two letters say. The rank of "
        "“learning” tells what it made of that.",
        (Place(106, "le|arning"),),
    ),
    Situation(
        "“grammar”, twice",
        "The first “grammar” comes with little before it: none of the article's networks offers it before its fourth "
        "letter. The second time the GRU needs one letter, the others four again.",
        "Go through the places in turn and watch the rank fall. Does it fall earlier the second time? Then the model "
        "has used what it read more than a hundred characters ago.",
        (
            Place(28, "first: no letter yet"),
            Place(32, "first: gram|mar"),
            Place(159, "second: g|rammar"),
            Place(162, "second: gram|mar"),
        ),
    ),
    Situation(
        "“schools”, one letter known",
        "Here the article's LSTM draws on nearly the whole sentence, yet what it offers has little to do with it: it "
        "remembers, but does not put to use what it remembers.",
        "Shading shows what a prediction depends on, not that it helps. Compare how far back the shading reaches with "
        "the rank of “schools”.",
        (Place(141, "s|chools"),),
    ),
)


def walk() -> dict[str, Any]:
    """``stored``: the article's own networks, of which only the connectivity of this text is known."""
    situations = [asdict(situation) for situation in SITUATIONS]
    for situation in situations:
        for place in situation["places"]:
            place["published"] = ranks(place["at"])
    return {"text": PARAGRAPH.removeprefix(" "), "situations": situations, "stored": listings()}
