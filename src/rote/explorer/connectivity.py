"""The connectivity view: what each output of a text draws on, in any number of models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from rote.explorer.messages import Body, Key
from rote.explorer.text_requests import TextBody, Word
from rote.explorer.workbench import Workbench, workbench

router = APIRouter(prefix="/api/connectivity", tags=["connectivity"])
SHOWN = 60  # symbols that are named


class ConnectivityBody(TextBody):
    wrt: Literal["one_hot", "embedding"] = "one_hot"
    norm: Literal["l2", "squared", "signed"] = "l2"
    of: Literal["logit", "log_probability"] = "logit"
    ask: Literal["text", "choice", "word"] = "text"
    word: Word | None = None
    top: Annotated[int, Field(ge=1, le=20)] = 5


class SymbolsBody(Body):
    model: Key


@router.post("")
def connectivity(body: ConnectivityBody, request: Request) -> dict[str, Any]:
    """The whole matrix of one model, so that pointing at the text asks for nothing more."""
    bench = workbench(request)
    return bench.compute(_answer, bench, body)


@router.get("/walk")
def walk() -> dict[str, Any]:
    """The paragraph of source 003, the three situations that its article describes, and what it stored of them."""
    from rote.explorer.guided_tour import walk

    return walk()


@router.post("/symbols")
def symbols(body: SymbolsBody, request: Request) -> dict[str, Any]:
    """Some of the symbols that a model reads, and a text made of them: something to begin with."""
    bench = workbench(request)
    return bench.compute(_symbols, bench, body)


def _answer(bench: Workbench, body: ConnectivityBody) -> dict[str, Any]:
    from rote.explorer import stored_matrices
    from rote.explorer.text_connectivity import link

    if body.model.startswith(stored_matrices.PREFIX):
        return stored_matrices.answer(
            body.model, body.text, wrt=body.wrt, norm=body.norm, of=body.of, ask=body.ask
        )  # fmt: skip

    found = link(
        body.reader(bench), body.text, wrt=body.wrt, norm=body.norm, of=body.of, ask=body.ask, word=body.word,
        top=body.top,
    )  # fmt: skip
    return found.answer()


def _symbols(bench: Workbench, body: SymbolsBody) -> dict[str, Any]:
    from rote.explorer.reading import Reader

    opened = bench.catalog.open(body.model)
    reader = Reader(opened.model, opened.inputs, opened.outputs, opened.example)
    return {
        "symbols": reader.inputs[:SHOWN],
        "count": len(reader.inputs),
        "example": reader.example(),
    }
