"""The decomposition view: what a phrase contributes to later predictions, and the tree of all spans."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request

from rote.explorer.text_requests import Step, TextBody, Word
from rote.explorer.workbench import Workbench, workbench

router = APIRouter(prefix="/api/decomposition", tags=["decomposition"])
# What the view opens with: “los” decides that “angeles” is expected (the best of benchmarks/decisive_phrases.py).
EXAMPLE = {"model": "gru", "text": "the film was made in los ", "phrase": (21, 24), "at": 25}


class Rules(TextBody):
    rules: Literal["shapley", "murdoch2018", "gcd2019"] = "shapley"  # how sums and products are split
    word: Word | None = None  # the output that is looked at; else what the model predicts


class PhraseBody(Rules):
    start: Step
    end: Step  # inclusive
    target: bool = False  # look at what the text has, where it says so


class TreeBody(Rules):
    at: Step
    unit: Literal["symbols", "words"] = "symbols"


@router.get("/example")
def example() -> dict[str, Any]:
    """A text in which one phrase visibly decides what a bundled model predicts."""
    return EXAMPLE


@router.post("/phrase")
def phrase(body: PhraseBody, request: Request) -> dict[str, Any]:
    """The contribution of one phrase at every output from its beginning on, against the rest."""
    bench = workbench(request)
    return bench.compute(_phrase, bench, body)


@router.post("/tree")
def tree(body: TreeBody, request: Request) -> dict[str, Any]:
    """The score of every span for one output."""
    bench = workbench(request)
    return bench.compute(_tree, bench, body)


def _phrase(bench: Workbench, body: PhraseBody) -> dict[str, Any]:
    from rote.explorer.contributions import contribution

    span = (body.start, body.end)
    found = contribution(
        body.reader(bench), body.text, span, word=body.word or None, target=body.target, rules=body.rules
    )
    return found.answer()


def _tree(bench: Workbench, body: TreeBody) -> dict[str, Any]:
    from rote.explorer.contributions import all_spans

    whole = body.unit == "words"
    return all_spans(
        body.reader(bench), body.text, body.at, word=body.word or None, whole_words=whole, rules=body.rules
    ).answer()
