"""The autocomplete view: what a model expects after a text that is being typed, and what its cells did on the way."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field

from rote.explorer.text_requests import Step, TextBody, Word
from rote.explorer.workbench import Workbench, workbench

if TYPE_CHECKING:
    from rote.explorer.prefix_cache import Trails

router = APIRouter(prefix="/api/autocomplete", tags=["autocomplete"])
BINS = 256  # of the probability strip


class AutocompleteBody(TextBody):
    top: Annotated[int, Field(ge=1, le=20)] = 8
    word: Word | None = None  # whose rank is asked for
    layer: Annotated[int, Field(ge=0, le=64)] = 0
    series: Word = "hidden"  # a state or a gate
    since: Step = 0  # the first step whose activity is sent: earlier ones are known


@router.post("")
def autocomplete(body: AutocompleteBody, request: Request) -> dict[str, Any]:
    """Suggestions, the probability of every output, and the activity of one layer."""
    bench = workbench(request)
    return bench.compute(_answer, bench, body)


@cache
def trails() -> Trails:
    """What was typed before, of all models."""
    from rote.explorer.prefix_cache import Trails

    return Trails()


def _answer(bench: Workbench, body: AutocompleteBody) -> dict[str, Any]:
    from rote.explorer.prefix_cache import expected

    return expected(
        trails(), body.reader(bench), body.text, top=body.top, word=body.word or None, layer=body.layer,
        series=body.series, since=body.since, bins=BINS,
    )  # fmt: skip
