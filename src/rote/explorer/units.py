"""The units view: what a recurrent unit computes at each character, and how a loss reaches back through time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from rote.explorer.text_requests import TextBody
from rote.explorer.workbench import Workbench, workbench

router = APIRouter(prefix="/api/units", tags=["units"])


class UnitsBody(TextBody):
    layer: Annotated[int, Field(ge=0, le=64)] = 0
    unit: Annotated[int, Field(ge=0, le=100_000)] = 0


class GradientBody(TextBody):
    untrained: Literal["elman", "gru", "lstm", "nested_lstm"] | None = None  # instead of the model


@router.post("")
def units(body: UnitsBody, request: Request) -> dict[str, Any]:
    """The diagram of one layer's unit, and its values along the text."""
    bench = workbench(request)
    return bench.compute(_watched, bench, body)


@router.post("/gradient")
def gradient(body: GradientBody, request: Request) -> dict[str, Any]:
    """How the loss at each character reaches back to the states before it."""
    bench = workbench(request)
    return bench.compute(_reached, bench, body)


def _watched(bench: Workbench, body: UnitsBody) -> dict[str, Any]:
    from rote.explorer.unit_values import watched

    return watched(body.reader(bench), body.text, body.layer, body.unit)


def _reached(bench: Workbench, body: GradientBody) -> dict[str, Any]:
    from rote.explorer.unit_values import reached, untrained

    return reached(body.reader(bench) if body.untrained is None else untrained(body.untrained), body.text)
