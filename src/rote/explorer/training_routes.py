"""What both playgrounds are asked about networks that learn: begin, step, change, begin again, play, pause and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from rote.explorer.messages import Answer, Body
from rote.explorer.training_jobs import Job, Look, Session, jobs_of, lines
from rote.explorer.workbench import workbench

S = TypeVar("S", bound=Session)


class Looking(Body):
    look: Look | None = None


class OfJob(Looking):
    job: Annotated[str, Field(min_length=1, max_length=40)]


class Step(OfJob):
    updates: Annotated[int, Field(ge=0, le=10_000)] = 1


class Play(OfJob):
    updates: Annotated[int, Field(ge=1, le=1000)] = 1  # between two frames, as far as time allows
    frames: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000


class TrainingRoutes(Generic[S]):
    """The routes of one playground, whose sessions are of the kind that ``kind`` imports: it needs torch.

    ``start`` and ``change`` read settings of the playground's own, so that it declares these two routes itself.
    """

    def __init__(self, name: str, kind: Callable[[], type[S]]) -> None:
        self.router = APIRouter(prefix=f"/api/{name}", tags=[name])
        self._kind = kind
        for route in (self.step, self.reset, self.pause, self.stop):
            self.router.post(f"/{route.__name__}")(route)
        self.router.post("/play")(self.play)

    def job(self, body: OfJob, request: Request) -> Job[S]:
        return jobs_of(workbench(request)).find(body.job, self._kind())

    def start(self, settings: Any, look: Look | None, request: Request) -> Answer:
        """New networks, and what they look like."""
        bench = workbench(request)

        def first() -> dict[str, Any]:
            kind: Callable[[Any], S] = self._kind()
            job = jobs_of(bench).start(lambda: kind(settings))
            return {"job": job.id, **job.look(look)}

        return Answer(bench.compute(first))

    def change(self, settings: Any, body: OfJob, request: Request) -> Answer:
        """Other settings: live, or with new networks where these need them."""
        return Answer(workbench(request).compute(self.job(body, request).change, settings, body.look))

    def step(self, body: Step, request: Request) -> Answer:
        return Answer({"frame": workbench(request).compute(self.job(body, request).step, body.updates, body.look)})

    def reset(self, body: OfJob, request: Request) -> Answer:
        """The same networks as at step 0."""
        return Answer(workbench(request).compute(self.job(body, request).reset, body.look))

    async def play(self, body: Play, request: Request) -> StreamingResponse:
        """Frames as lines of JSON, until ``pause``. Closing the connection ends the job."""
        played = lines(workbench(request), self.job(body, request), body.updates, body.frames, body.look)
        return StreamingResponse(played, media_type="application/x-ndjson")

    def pause(self, body: OfJob, request: Request) -> Answer:
        job = self.job(body, request)
        job.pause()
        return Answer({"frame": workbench(request).compute(job.step, 0, body.look)})

    def stop(self, body: OfJob, request: Request) -> Answer:
        """The page is left: free the job's place."""
        jobs_of(workbench(request)).stop(self.job(body, request))
        return Answer({"stopped": body.job})
