"""The playground's routes: what is streamed is what training in Python gives; jobs are bounded, stopped and swept."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from api_client import TestClient, bench_of, client_of

from rote.explorer import Workbench, training_jobs
from rote.explorer.plane_session import PlaneSession
from rote.explorer.plane_settings import PlaneSettings
from rote.explorer.training_jobs import Look, jobs_of, lines
from rote.explorer.workbench import JOBS
from rote.store import Store

T = TypeVar("T")
SETTINGS = {"seeds": 2, "hidden": [4, 3], "activation": "tanh", "noise": 0.1, "regularization": "l2", "seed": 7}


@pytest.fixture
def client(tmp_path: Any) -> Iterator[TestClient]:
    """An explorer without jobs."""
    with client_of(Workbench(Store(tmp_path))) as client:
        yield client


@pytest.fixture
def bench(tmp_path: Any) -> Iterator[Workbench]:
    found = Workbench(Store(tmp_path))
    yield found
    found.close()


def run_alone(main: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own: the browser tests keep a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(main)).result()


def post(client: TestClient, route: str, **body: Any) -> Any:
    answer = client.post(f"/api/playground/{route}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, route: str, **body: Any) -> tuple[int, str]:
    answer = client.post(f"/api/playground/{route}", json=body)
    return answer.status_code, answer.json()["error"]


def test_what_is_streamed_is_what_python_computes(client: TestClient) -> None:
    started = post(client, "start", settings=SETTINGS, look={"network": 1})
    session = PlaneSession(PlaneSettings(**SETTINGS))
    assert started["frame"] == session.frame(Look(network=1))
    assert started["points"] == session.points()

    answer = client.post("/api/playground/play", json={"job": started["job"], "updates": 3, "frames": 4})
    frames = [json.loads(line) for line in answer.text.splitlines()]
    assert len(frames) == 4
    for frame in frames:  # how many updates a frame is apart depends on the time there was, what they do does not
        session.advance(frame["step"] - session.step)
        assert frame == session.frame()

    changed = {**SETTINGS, "learning_rate": 0.5, "combinations": ["11", "00"]}
    answer = post(client, "change", job=started["job"], settings=changed)
    session.change(PlaneSettings(**changed))
    assert answer == {"restarted": False, "frame": session.frame(), "points": session.points()}
    session.advance(5)
    assert post(client, "step", job=started["job"], updates=5)["frame"] == session.frame()

    session.restart()
    assert post(client, "reset", job=started["job"])["frame"] == session.frame()
    assert post(client, "change", job=started["job"], settings={"hidden": []})["restarted"] is True


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"settings": {"seeds": 9}}, "settings.seeds"),
        ({"settings": {"hidden": [0]}}, "settings.hidden.0"),
        ({"settings": {"combinations": []}}, "settings.combinations"),
        ({"settings": {"learning_rate": "fast"}}, "settings.learning_rate"),
        ({"settings": {"optimizer": "adam"}}, "settings.optimizer"),
        ({"look": {"network": 8}}, "look.network"),
    ],
)
def test_settings_out_of_bounds_say_which(client: TestClient, body: dict[str, Any], named: str) -> None:
    status, error = refused(client, "start", **body)
    assert status == 422
    assert error.startswith(f"{named}:")
    assert jobs_of(bench_of(client)).running() == 0


def test_jobs_are_bounded_and_stopping_one_makes_room(client: TestClient) -> None:
    started = [post(client, "start", settings={"seeds": 1})["job"] for _ in range(JOBS)]
    status, error = refused(client, "start")
    assert status == 429
    assert str(JOBS) in error
    post(client, "stop", job=started[0])
    post(client, "start", settings={"seeds": 1})
    for route in ("step", "play", "pause", "reset", "stop"):
        status, error = refused(client, route, job=started[0])
        assert status == 404
        assert "Reset" in error


def test_a_job_that_nobody_uses_gives_way(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    started = [post(client, "start", settings={"seeds": 1})["job"] for _ in range(JOBS)]
    post(client, "step", job=started[0])  # so that the second is the one that was still for longest
    monkeypatch.setattr(training_jobs, "STILL_SECONDS", 0.0)
    post(client, "start", settings={"seeds": 1})
    assert refused(client, "step", job=started[1])[0] == 404
    assert [refused(client, "step", job=job, updates=-1)[0] for job in started[2:]] == [422] * (JOBS - 2)
    post(client, "step", job=started[0])
    monkeypatch.setattr(training_jobs, "IDLE_SECONDS", 0.0)
    assert refused(client, "step", job=started[0])[0] == 404
    assert jobs_of(bench_of(client)).running() == 0


def test_a_reader_that_goes_away_frees_the_job(bench: Workbench) -> None:
    jobs = jobs_of(bench)
    job = jobs.start(lambda: PlaneSession(PlaneSettings(seeds=1)))

    async def read_two_and_leave() -> None:
        played = lines(bench, job, 1, 1000, None)
        await anext(played)
        await anext(played)
        await played.aclose()  # as the server does when the connection is closed

    run_alone(read_two_and_leave())
    assert jobs.running() == 0
    assert job.ended
    with bench.job(), bench.job(), bench.job(), bench.job():  # its place is free as well
        pass


def test_a_stream_ends_when_the_server_does(bench: Workbench) -> None:
    jobs = jobs_of(bench)
    job = jobs.start(lambda: PlaneSession(PlaneSettings(seeds=1)))

    async def read() -> int:
        played = lines(bench, job, 1, 1000, None)
        await anext(played)
        bench.end()
        return len([line async for line in played])

    assert run_alone(read()) <= 1


def test_a_pause_ends_the_stream_and_a_change_does_not_wait_for_it(bench: Workbench) -> None:
    """While frames are read, another thread changes a setting and then pauses: both reach the running session."""
    job = jobs_of(bench).start(lambda: PlaneSession(PlaneSettings(seeds=1)))
    frames = []

    async def read() -> None:
        async for frame in job.play(1, 1000, None):
            frames.append(frame)
            if len(frames) == 3:
                other.start()

    def meddle() -> None:
        job.change(PlaneSettings(seeds=1, learning_rate=0.7), None)
        job.pause()

    other = threading.Thread(target=meddle)
    run_alone(read())
    other.join()
    assert 3 <= len(frames) < 1000
    assert job.session.settings.learning_rate == 0.7
    assert not job.playing
    assert not job.ended
