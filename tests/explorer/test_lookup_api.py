"""The lookup routes: what they say is what the models say when they are called directly."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from api_client import TestClient, client_of

from rote.analyses import diagnose
from rote.config import resolve
from rote.errors import RunFailedError
from rote.explorer import Workbench
from rote.explorer.lookup_models import LONGEST, LookupModel, LookupModels, read_composition, split_of
from rote.models import EncoderDecoder
from rote.store import Store
from rote.studies.realization.models import SMOKE, LookupRecipe
from rote.studies.realization.starter import FOLDER, KINDS, load_starter, make, saved_config, starter_record
from rote.studies.realization.training import LookupData, make_program
from rote.tasks.lookup import LookupTask


def ask(client: TestClient, **body: Any) -> Any:
    answer = client.post("/api/lookup/ask", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def small() -> LookupRecipe:
    return resolve(LookupRecipe(), {key: value for key, value in SMOKE.items() if key != "seeds"})


@pytest.mark.parametrize("composition", ["000 t1 t2", "101 t7 t8 .", "011 t5 t6 t4 t3 ."])
def test_answers_are_those_of_the_models_called_directly(client: TestClient, composition: str) -> None:
    """The encoder's states and gates, too, against a plain GRU with the same weights."""
    found = ask(client, composition=composition)
    for kind in KINDS:
        model, config = load_starter(kind)
        inputs, outputs = config.task.vocabulary()
        symbols = [*composition.removesuffix(" .").split(), "."]
        tokens = torch.tensor([[[inputs.index(symbol) for symbol in symbols]]])
        wanted = torch.zeros(1, 1, len(symbols) - 1, dtype=torch.long)  # only how many
        with torch.no_grad():
            decoded = model(tokens, torch.ones_like(tokens, dtype=torch.bool), wanted, outputs.index("<sos>"))
        said = found["models"][kind]
        assert [best[0]["symbol"] for best in said["answers"]] == [
            outputs[at] for at in decoded.logits[0, 0].argmax(-1)
        ]
        for best, logits in zip(said["answers"], decoded.logits[0, 0], strict=True):
            assert best[0]["probability"] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-4)
        torch.testing.assert_close(torch.tensor(said["attention"]), decoded.attention[0, 0], atol=1e-4, rtol=0)
        states, update = plain_gru(model, tokens[0, 0])
        activity = said["activity"]["encoder"]
        torch.testing.assert_close(torch.tensor(activity["state"]), states, atol=1e-3, rtol=0)
        torch.testing.assert_close(torch.tensor(activity["update"]), update, atol=1e-3, rtol=0)
        assert len(said["activity"]["decoder"]["reset"]) == len(symbols) - 1


def plain_gru(model: EncoderDecoder, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Hidden states and update gates [time, unit] of the encoder, by torch's own GRU."""
    cell = model.encoder_of(0).recurrent.cell(0)
    gru = torch.nn.GRUCell(cell.weight_ih.shape[1], cell.hidden_size)
    gru.load_state_dict(cell.state_dict())
    state, states, updates = torch.zeros(cell.hidden_size), [], []
    with torch.no_grad():
        for vector in model.encoder.embedding.weight[0][tokens]:
            gates = gru.weight_ih @ vector + gru.bias_ih + gru.weight_hh @ state + gru.bias_hh
            updates.append(gates.split(cell.hidden_size)[1].sigmoid())
            state = gru(vector, state)
            states.append(state)
    return torch.stack(states), torch.stack(updates)


def test_the_right_answer_and_where_the_composition_comes_from(client: TestClient) -> None:
    task = client.post("/api/lookup/task", json={}).json()
    found = ask(client, composition="010 t1 t6")
    assert found["inputs"] == ["010", "t1", "t6", "."]
    assert found["right"] == ["010", task["tables"]["t1"]["010"], task["tables"]["t6"][task["tables"]["t1"]["010"]]]
    assert task["alone"] == ["t7", "t8"]
    for split, composition in task["examples"].items():
        assert ask(client, composition=composition)["split"] == split


def test_longer_compositions_are_told_by_their_tables() -> None:
    task = LookupTask()
    expected = {"000 t1 t2 t3": "longer_seen", "000 t7 t8 t7": "longer_new", "000 t1 t7 t2": "longer_incremental"}
    assert {text: split_of(task, read_composition(task, text)) for text in expected} == expected
    assert split_of(task, read_composition(task, "000 t8")) == "train"


@pytest.mark.parametrize(
    ("composition", "says"),
    [
        ("", "empty"),
        (" . ", "empty"),
        ("t1 t2", "begins with 3 bits"),
        ("0000 t1", "begins with 3 bits"),
        ("000", "Got 0"),
        ("000 t9", "Symbol 2 must be a table, t1 to t8. Got 't9'."),
        ("000 t1 . t2", "Symbol 3"),
        ("000" + " t1" * (LONGEST + 1), f"1 to {LONGEST} tables"),
        ("000 t1 <script>", "'<script>'"),
    ],
)
def test_malformed_compositions_say_what_is_wrong(client: TestClient, composition: str, says: str) -> None:
    answer = client.post("/api/lookup/ask", json={"composition": composition})
    assert answer.status_code == 422
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_unknown_models_and_seeds_are_refused(client: TestClient) -> None:
    for body, status in (
        ({"models": "bundle"}, 404), ({"models": "../secret"}, 404), ({"seed": 3}, 422), ({"seed": -1}, 422),
        ({"composition": "0" * 401}, 422), ({"layers": 1}, 422),
    ):  # fmt: skip
        answer = client.post("/api/lookup/ask", json={"composition": "000 t1", **body})
        assert answer.status_code == status, answer.text
        assert "error" in answer.json()


def test_groups_are_those_of_the_analysis_and_found_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = small()
    symbols = config.task.vocabulary()
    models = {
        kind: LookupModel(EncoderDecoder(config.model, len(symbols[0]), len(symbols[1]), (seed,)), config.task)
        for seed, kind in enumerate(KINDS)
    }
    monkeypatch.setattr("rote.explorer.lookup_models._bundled", lambda: models)
    opened = LookupModels(Store(tmp_path))
    found = opened.groups("bundled", wait=60)
    assert found is not None
    assert opened.groups("bundled", wait=0) is found

    rows = [row for name, rows in config.task.splits().items() if not name.startswith("longer") for row in rows]
    data = LookupData({"all": rows}, symbols, "cpu")
    batch = data.whole("all", 1)
    with torch.no_grad():
        states = models["baseline"].model.double()(batch.tokens, batch.mask, batch.targets, data.start).encoded[0]
    labels = [
        [symbol if symbol.startswith("t") else None for symbol in row.inputs] + [None] * (4 - len(row.inputs))
        for row in rows
    ]
    probe = diagnose(states.round(decimals=6), labels, splits=1)
    of_table = found["baseline"][0]
    assert (of_table["part"], of_table["of"], of_table["label"]) == ("encoder", "state", "table")
    assert of_table["units"] == list(probe.group)
    assert of_table["accuracy"] == probe.accuracy


def test_groups_do_not_depend_on_the_last_bits_of_the_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which these are depends on the number of threads; in float64 they are far behind the digits that are kept."""
    config = small()
    symbols = config.task.vocabulary()
    model = LookupModel(EncoderDecoder(config.model, len(symbols[0]), len(symbols[1]), (0,)), config.task)
    seen: list[torch.Tensor] = []

    def watched(values: torch.Tensor, labels: list[str], **options: Any) -> Any:
        seen.append(values)
        return diagnose(values, labels, **options)

    monkeypatch.setattr("rote.analyses.diagnose", watched)
    model.groups(threading.Event())
    assert len(seen) > 2
    for values in seen:
        assert values.dtype == torch.float64
        assert torch.equal(values, (values * (1 + 2**-48)).round(decimals=6))


def test_a_search_that_lasts_is_asked_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    models = LookupModels(Store(tmp_path))
    models._one.acquire()  # as if another were under way
    assert models.groups("bundled", wait=0.01) is None
    monkeypatch.setattr("rote.explorer.lookup_models.SEARCHES", 1)
    assert models.groups("bundled", wait=0.01) is None  # it waits already
    monkeypatch.setattr(LookupModel, "groups", lambda self, closed: [])
    models._one.release()
    assert models.groups("bundled", wait=60) == {"baseline": [], "guided": []}


def test_a_search_that_failed_is_begun_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    models = LookupModels(Store(tmp_path))

    def fails(self: LookupModel, closed: object) -> None:
        raise RunFailedError("No memory was left.")

    monkeypatch.setattr(LookupModel, "groups", fails)
    with pytest.raises(RunFailedError, match="No memory"):
        models.groups("bundled", wait=60)
    monkeypatch.setattr(LookupModel, "groups", lambda self, closed: [])
    assert models.groups("bundled", wait=60) == {"baseline": [], "guided": []}


def test_models_of_the_store_are_pairs_of_finished_runs(tmp_path: Path) -> None:
    store, guided, seeds = Store(tmp_path), small(), (4, 9)
    programs = {recipe.kind: make_program(recipe, seeds, "cpu") for recipe in (guided.baseline(), guided)}
    for recipe in (guided.baseline(), guided):
        (job,) = recipe.jobs(seeds)
        with store.open(replace(job.request, preset="smoke")) as run:
            model = programs[recipe.kind].model
            with torch.no_grad():
                model.decoder.readout.bias.add_(len(recipe.kind))
            run.save(1, {"model": model.state_dict()}, set())
            run.finish([])
    (alone,) = resolve(guided, {"model.cell": "lstm"}).jobs(seeds)
    with store.open(alone.request) as run:
        run.finish([])  # without a baseline beside it
    with client_of(Workbench(store)) as client:
        bundled, stored = client.get("/api/lookup/models").json()["models"]
        assert bundled["key"] == "bundled"
        assert stored["title"] == "smoke: GRU, 16 units, 30 steps"
        assert stored["seeds"] == [4, 9]
        body = {"models": stored["key"], "composition": "110 t2 t4 ."}
        first, second = ask(client, **body), ask(client, **body, seed=9)
        assert first == ask(client, **body, seed=4)
    model = LookupModel(programs["guided"].model.select([1]), guided.task)
    assert second["models"]["guided"] == model.answer(("110", "t2", "t4", "."))
    assert first["models"]["guided"] != second["models"]["guided"]


def test_the_bundled_pair_is_small_and_says_how_it_was_made(tmp_path: Path) -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000
    records = {kind: starter_record(kind) for kind in KINDS}
    assert saved_config("baseline") == saved_config("guided").baseline()
    splits = ("heldout_compositions", "new_compositions")
    for split in splits:  # recorded, and measured again
        for kind in KINDS:
            program = make_program(saved_config(kind), (0,), "cpu")
            program.model = load_starter(kind)[0]
            assert program.accuracy(split) == [pytest.approx(records[kind]["accuracy"][split])]
        assert records["guided"]["accuracy"][split] > records["baseline"]["accuracy"][split] + 0.5
    facts = make(resolve(small(), {"training.steps": 2, "training.record_every": 1}), tmp_path, Store(tmp_path))
    assert starter_record("guided", tmp_path)["accuracy"] == facts["accuracy"]
    assert {"train", "longer_new"} <= set(facts["accuracy"])
    assert load_starter("guided", tmp_path)[1].training.steps == 2
