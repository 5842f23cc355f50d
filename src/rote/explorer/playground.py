"""The playground: networks on the plane, trained here and shown there, a few updates at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request

from rote.explorer.messages import Answer
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.training_routes import Looking, OfJob, TrainingRoutes

if TYPE_CHECKING:
    from rote.explorer.plane_session import PlaneSession


def _sessions() -> type[PlaneSession]:
    from rote.explorer.plane_session import PlaneSession

    return PlaneSession


training = TrainingRoutes("playground", _sessions)
router = training.router


class Start(Looking):
    settings: PlaneSettings = PlaneSettings()


class Change(OfJob):
    settings: PlaneSettings


@router.post("/start")
def start(body: Start, request: Request) -> Answer:
    """New networks, and what they look like."""
    return training.start(body.settings, body.look, request)


@router.post("/change")
def change(body: Change, request: Request) -> Answer:
    """Other settings: live, or with new networks where these have another shape or seed."""
    return training.change(body.settings, body, request)
