"""The recurrent playground: networks learn tasks in time here and are shown there, a few updates at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from rote.explorer.messages import Answer, Body
from rote.explorer.recurrent_settings import Look, RecurrentSettings
from rote.explorer.training_jobs import Job, jobs_of, lines
from rote.explorer.workbench import workbench

if TYPE_CHECKING:
    from rote.explorer.recurrent_session import RecurrentSession

router = APIRouter(prefix="/api/recurrent", tags=["recurrent"])


class Start(Body):
    settings: RecurrentSettings = RecurrentSettings()
    look: Look | None = None


class OfJob(Body):
    job: Annotated[str, Field(min_length=1, max_length=40)]
    look: Look | None = None


class Step(OfJob):
    updates: Annotated[int, Field(ge=0, le=10_000)] = 1


class Change(OfJob):
    settings: RecurrentSettings


class Play(OfJob):
    updates: Annotated[int, Field(ge=1, le=1000)] = 1  # between two frames, as far as time allows
    frames: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000


@router.post("/start")
def start(body: Start, request: Request) -> Answer:
    """New networks, their task, and what they look like."""
    bench = workbench(request)

    def first() -> dict[str, Any]:
        from rote.explorer.recurrent_session import RecurrentSession

        job = jobs_of(bench).start(lambda: RecurrentSession(body.settings))
        return {"job": job.id, **job.look(body.look)}

    return Answer(bench.compute(first))


@router.post("/step")
def step(body: Step, request: Request) -> Answer:
    job = _job(body, request)
    return Answer({"frame": workbench(request).compute(job.step, body.updates, body.look)})


@router.post("/change")
def change(body: Change, request: Request) -> Answer:
    """Another learning rate goes on; with anything else there are new networks."""
    job = _job(body, request)
    return Answer(workbench(request).compute(job.change, body.settings, body.look))


@router.post("/reset")
def reset(body: OfJob, request: Request) -> Answer:
    """The same networks as at step 0."""
    job = _job(body, request)
    return Answer(workbench(request).compute(job.reset, body.look))


@router.post("/play")
async def play(body: Play, request: Request) -> StreamingResponse:
    """Frames as lines of JSON, until ``pause``. Closing the connection ends the job."""
    played = lines(workbench(request), _job(body, request), body.updates, body.frames, body.look)
    return StreamingResponse(played, media_type="application/x-ndjson")


@router.post("/pause")
def pause(body: OfJob, request: Request) -> Answer:
    job = _job(body, request)
    job.pause()
    return Answer({"frame": workbench(request).compute(job.step, 0, body.look)})


@router.post("/script")
def script(body: OfJob, request: Request) -> Answer:
    """One network as a PyTorch script with its weights, which needs nothing but torch."""
    job = _job(body, request)
    place = body.look.network if body.look else 0

    def written(session: RecurrentSession) -> dict[str, Any]:
        from rote.explorer.recurrent_script import script_of

        return {"script": script_of(session, min(place, session.settings.seeds - 1))}

    return Answer(workbench(request).compute(job.ask, written))


@router.post("/whole")
def whole(body: OfJob, request: Request) -> Answer:
    """The networks with all that training needs, so that a file can go on with them."""
    job = _job(body, request)

    def told(session: RecurrentSession) -> dict[str, Any]:
        from rote.explorer.recurrent_script import HEAD, MODULE, MODULES, TAIL

        return {**session.whole(), "templates": [HEAD, MODULE, TAIL], "modules": MODULES}

    return Answer(workbench(request).compute(job.ask, told))


@router.get("/tasks")
def tasks() -> Answer:
    """Every task at every length, for a file that has no server to make them."""
    from rote.explorer.sequence_tasks import all_tasks

    return Answer(all_tasks())


@router.post("/stop")
def stop(body: OfJob, request: Request) -> Answer:
    """The page is left: free the job's place."""
    jobs_of(workbench(request)).stop(_job(body, request))
    return Answer({"stopped": body.job})


def _job(body: OfJob, request: Request) -> Job[RecurrentSession]:
    from rote.explorer.recurrent_session import RecurrentSession

    return jobs_of(workbench(request)).find(body.job, RecurrentSession)
