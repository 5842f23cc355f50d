"""The playground: networks on the plane, trained here and shown there, a few updates at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from rote.explorer.messages import Answer, Body
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.training_jobs import Job, jobs_of, lines
from rote.explorer.workbench import workbench

if TYPE_CHECKING:
    from rote.explorer.plane_session import PlaneSession

router = APIRouter(prefix="/api/playground", tags=["playground"])

Updates = Annotated[int, Field(ge=0, le=10_000)]
Focus = Annotated[int | None, Field(ge=0, le=7, description="the network whose weights and units are shown")]


class Start(Body):
    settings: PlaneSettings = PlaneSettings()
    focus: Focus = None


class OfJob(Body):
    job: Annotated[str, Field(min_length=1, max_length=40)]
    focus: Focus = None


class Step(OfJob):
    updates: Updates = 1


class Change(OfJob):
    settings: PlaneSettings


class Play(OfJob):
    updates: Annotated[int, Field(ge=1, le=1000)] = 1  # between two frames, as far as time allows
    frames: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000


@router.post("/start")
def start(body: Start, request: Request) -> Answer:
    """New networks, and what they look like."""
    bench = workbench(request)

    def first() -> dict[str, object]:
        from rote.explorer.plane_session import PlaneSession

        job = jobs_of(bench).start(lambda: PlaneSession(body.settings))
        return {"job": job.id, **job.look(body.focus)}

    return Answer(bench.compute(first))


@router.post("/step")
def step(body: Step, request: Request) -> Answer:
    job = _job(body, request)
    return Answer({"frame": workbench(request).compute(job.step, body.updates, body.focus)})


@router.post("/change")
def change(body: Change, request: Request) -> Answer:
    """Other settings: live, or with new networks where these have another shape or seed."""
    job = _job(body, request)
    return Answer(workbench(request).compute(job.change, body.settings, body.focus))


@router.post("/reset")
def reset(body: OfJob, request: Request) -> Answer:
    """The same networks as at step 0."""
    job = _job(body, request)
    return Answer(workbench(request).compute(job.reset, body.focus))


@router.post("/play")
async def play(body: Play, request: Request) -> StreamingResponse:
    """Frames as lines of JSON, until ``pause``. Closing the connection ends the job."""
    played = lines(workbench(request), _job(body, request), body.updates, body.frames, body.focus)
    return StreamingResponse(played, media_type="application/x-ndjson")


@router.post("/pause")
def pause(body: OfJob, request: Request) -> Answer:
    job = _job(body, request)
    job.pause()
    return Answer({"frame": workbench(request).compute(job.step, 0, body.focus)})


@router.post("/stop")
def stop(body: OfJob, request: Request) -> Answer:
    """The page is left: free the job's place."""
    jobs_of(workbench(request)).stop(_job(body, request))
    return Answer({"stopped": body.job})


def _job(body: OfJob, request: Request) -> Job[PlaneSession]:
    from rote.explorer.plane_session import PlaneSession

    return jobs_of(workbench(request)).find(body.job, PlaneSession)
