"""The decomposition view: what a phrase contributes to later predictions, and the tree of all spans."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request

from rote.explorer.asking import Step, TextBody, Word
from rote.explorer.workbench import Workbench, workbench

router = APIRouter(prefix="/api/decomposition", tags=["decomposition"])


class Rules(TextBody):
    """How sums and products are split: the published variants."""

    bias: Literal["in_span", "exclusive_end", "never"] = "in_span"
    interactions: Literal["relevant", "source"] = "source"
    linearization: Literal["bias_first", "shapley"] = "bias_first"
    word: Word | None = None  # the output that is looked at; else what the model predicts

    def rules(self) -> dict[str, str]:
        return {"bias": self.bias, "interactions": self.interactions, "linearization": self.linearization}


class PhraseBody(Rules):
    start: Step
    end: Step  # inclusive
    target: bool = False  # look at what the text has, where it says so


class TreeBody(Rules):
    at: Step
    unit: Literal["symbols", "words"] = "symbols"


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
    from rote.explorer.phrases import contribution

    span = (body.start, body.end)
    found = contribution(
        body.reader(bench), body.text, span, word=body.word or None, target=body.target, **body.rules()
    )
    return found.answer()


def _tree(bench: Workbench, body: TreeBody) -> dict[str, Any]:
    from rote.explorer.phrases import all_spans

    whole = body.unit == "words"
    return all_spans(
        body.reader(bench), body.text, body.at, word=body.word or None, whole_words=whole, **body.rules()
    ).answer()
