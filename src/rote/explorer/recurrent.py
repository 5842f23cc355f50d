"""The recurrent playground: networks learn tasks in time here and are shown there, a few updates at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Request

from rote.explorer.messages import Answer
from rote.explorer.recurrent_settings import RecurrentSettings
from rote.explorer.training_routes import Looking, OfJob, TrainingRoutes
from rote.explorer.workbench import workbench

if TYPE_CHECKING:
    from rote.explorer.recurrent_session import RecurrentSession


def _sessions() -> type[RecurrentSession]:
    from rote.explorer.recurrent_session import RecurrentSession

    return RecurrentSession


training = TrainingRoutes("recurrent", _sessions)
router = training.router


class Start(Looking):
    settings: RecurrentSettings = RecurrentSettings()


class Change(OfJob):
    settings: RecurrentSettings


@router.post("/start")
def start(body: Start, request: Request) -> Answer:
    """New networks, their task, and what they look like."""
    return training.start(body.settings, body.look, request)


@router.post("/change")
def change(body: Change, request: Request) -> Answer:
    """Another learning rate goes on; with anything else there are new networks."""
    return training.change(body.settings, body, request)


@router.post("/script")
def script(body: OfJob, request: Request) -> Answer:
    """One network as a PyTorch script with its weights, which needs nothing but torch."""
    job = training.job(body, request)
    place = body.look.network if body.look else 0

    def written(session: RecurrentSession) -> dict[str, Any]:
        from rote.explorer.recurrent_script import script_of

        return {"script": script_of(session, min(place, session.settings.seeds - 1))}

    return Answer(workbench(request).compute(job.ask, written))


@router.post("/whole")
def whole(body: OfJob, request: Request) -> Answer:
    """The networks with all that training needs, so that a file can go on with them."""
    job = training.job(body, request)

    def told(session: RecurrentSession) -> dict[str, Any]:
        from rote.explorer.recurrent_script import HEAD, MODULE, MODULES, TAIL

        return {**session.whole(), "templates": [HEAD, MODULE, TAIL], "modules": MODULES}

    return Answer(workbench(request).compute(job.ask, told))


@router.get("/tasks")
def tasks() -> Answer:
    """Every task at every length, for a file that has no server to make them."""
    from rote.explorer.sequence_tasks import all_tasks

    return Answer(all_tasks())
