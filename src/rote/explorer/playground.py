"""The playground: networks on the plane, trained here and shown there, a few updates at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from rote.explorer.messages import Answer, Body
from rote.explorer.plane_jobs import Job, Jobs, jobs_of
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.workbench import Workbench, workbench

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
    bench, jobs = workbench(request), _jobs(request)

    def first() -> dict[str, Any]:
        job = jobs.start(body.settings)
        return {"job": job.id, **job.look(body.focus)}

    return Answer(bench.compute(first))


@router.post("/step")
def step(body: Step, request: Request) -> Answer:
    job = _jobs(request).find(body.job)
    return Answer({"frame": workbench(request).compute(job.step, body.updates, body.focus)})


@router.post("/change")
def change(body: Change, request: Request) -> Answer:
    """Other settings: live, or with new networks where these have another shape or seed."""
    job = _jobs(request).find(body.job)
    return Answer(workbench(request).compute(job.change, body.settings, body.focus))


@router.post("/reset")
def reset(body: OfJob, request: Request) -> Answer:
    """The same networks as at step 0."""
    job = _jobs(request).find(body.job)
    return Answer(workbench(request).compute(job.reset, body.focus))


@router.post("/play")
async def play(body: Play, request: Request) -> StreamingResponse:
    """Frames as lines of JSON, until ``pause``. Closing the connection ends the job."""
    bench, jobs = workbench(request), _jobs(request)
    lines = _lines(bench, jobs, jobs.find(body.job), body)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@router.post("/pause")
def pause(body: OfJob, request: Request) -> Answer:
    job = _jobs(request).find(body.job)
    job.pause()
    return Answer({"frame": workbench(request).compute(job.step, 0, body.focus)})


@router.post("/stop")
def stop(body: OfJob, request: Request) -> Answer:
    """The page is left: free the job's place."""
    jobs = _jobs(request)
    jobs.stop(jobs.find(body.job))
    return Answer({"stopped": body.job})


async def _lines(bench: Workbench, jobs: Jobs, job: Job, body: Play) -> AsyncIterator[str]:
    whole = False
    try:
        async for frame in job.play(body.updates, body.frames, body.focus):
            yield json.dumps(frame, allow_nan=False, separators=(",", ":")) + "\n"
            if bench.ending:
                break
        whole = True
    finally:
        if not whole:  # the reader has gone
            jobs.stop(job)


def _jobs(request: Request) -> Jobs:
    return jobs_of(workbench(request))
