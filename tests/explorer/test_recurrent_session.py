"""The recurrent playground's networks: what is shown is what plain torch computes, and the script gives the same."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from rote.cells import cells
from rote.errors import UsageError
from rote.explorer.recurrent_script import script_of
from rote.explorer.recurrent_session import RecurrentSession
from rote.explorer.recurrent_settings import RecurrentSettings
from rote.explorer.sequence_tasks import NOT_ASKED, TASKS, sequence_task
from rote.explorer.training_jobs import Look

SMALL = RecurrentSettings(task="parity", length=3, units=4, seeds=2)


@pytest.mark.parametrize("length", [1, 4, 12])
@pytest.mark.parametrize("name", TASKS)
def test_new_items_are_not_among_the_known_and_everything_is_asked_of_both(name: str, length: int) -> None:
    task = sequence_task(name, length)
    rows = [
        {(*tokens[:end], *targets[:end]) for tokens, targets, end in zip(i.tokens, i.targets, i.lengths, strict=True)}
        for i in (task.known, task.new)
    ]
    assert all(rows)
    assert not rows[0] & rows[1]
    for items in (task.known, task.new):
        assert (items.targets != NOT_ASKED).any(1).all()
        assert set(items.targets[items.targets != NOT_ASKED]) == set(range(len(task.answers)))


def test_answers_follow_the_rule_of_the_task() -> None:
    def rows(name: str) -> list[tuple[list[str], list[str | None]]]:
        task = sequence_task(name, 4)
        return [
            (
                [task.symbols[token] for token in tokens[:end]],
                [None if answer == NOT_ASKED else task.answers[answer] for answer in targets[:end]],
            )
            for items in (task.known, task.new)
            for tokens, targets, end in zip(items.tokens, items.targets, items.lengths, strict=True)
        ]

    for symbols, asked in rows("parity"):
        assert asked == [("even", "odd")[sum(map(int, symbols[: end + 1])) % 2] for end in range(len(symbols))]
    for symbols, asked in rows("xor"):
        for step in range(1, len(symbols), 3):
            assert asked[step] == symbols[step + 1] == str(int(symbols[step - 1]) ^ int(symbols[step]))
    for symbols, asked in rows("copy"):
        assert asked[-3:] == symbols[:3]
    for symbols, asked in rows("open_close"):
        assert (asked[-1] == "close") == (symbols[-5] == "<")
    for symbols, asked in rows("agreement"):
        assert (asked[-1] == "they") == symbols[0].endswith("s")


def test_own_pairs_are_read_and_wrong_lines_are_named() -> None:
    task = sequence_task("own", 1, pairs="ab = 10\nb = yes\n---\nba = 01")
    assert (task.symbols, task.answers) == (("a", "b"), ("0", "1", "yes"))
    assert task.known.targets.tolist() == [[1, 0], [2, NOT_ASKED]]
    assert len(task.new.tokens) == 1
    words = sequence_task("own", 1, pairs="the dog = runs\nthe dogs = run")
    assert words.symbols == ("dog", "dogs", "the")
    for text, said in (
        ("ab", "Line 1"),
        ("", "at least one"),
        ("a" * 41 + " = 1", "41 symbols"),
        ("a=b\n" * 201, "200"),
    ):
        with pytest.raises(UsageError, match=said):
            sequence_task("own", 1, pairs=text)


def test_updates_are_those_of_a_plain_torch_module() -> None:
    """The stacked population against nn.GRU and its own Adam, from the same weights and batches."""
    session = RecurrentSession(SMALL)
    task, twins = session.task, []
    for place in range(2):
        gru, readout = torch.nn.GRU(2, 4, batch_first=True), torch.nn.Linear(4, 2)
        cell = session.network(place).recurrent.cell(0)
        gru.load_state_dict({f"{name}_l0": weight for name, weight in cell.named_parameters()})
        readout.load_state_dict(session.network(place).readout.state_dict())  # type: ignore[union-attr]
        optimizer = torch.optim.Adam([*gru.parameters(), *readout.parameters()], SMALL.learning_rate)
        twins.append((gru, readout, optimizer))
    for _ in range(5):
        rows = session._batches()
        for (gru, readout, optimizer), batch in zip(twins, rows, strict=True):
            tokens, targets = (torch.from_numpy(part)[batch] for part in (task.known.tokens, task.known.targets))
            logits = readout(gru(torch.eye(2)[tokens])[0])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOT_ASKED)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        session.advance(1)
    tokens, targets = (torch.from_numpy(part) for part in (task.new.tokens, task.new.targets))
    for place, (gru, readout, _) in enumerate(twins):
        logits = readout(gru(torch.eye(2)[tokens])[0])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
        assert session.frame()["loss"]["new"][place] == pytest.approx(loss, rel=1e-4)


def test_the_inside_is_what_autograd_and_the_states_say() -> None:
    session = RecurrentSession(SMALL)
    session.advance(20)
    inside = session.frame(Look(network=1, item=2, at=2))["inside"]
    tokens = torch.from_numpy(session.task.known.tokens[2])
    model = session.network(1)
    gru = torch.nn.GRUCell(2, 4)
    gru.load_state_dict(dict(model.recurrent.cell(0).named_parameters()))
    states = [torch.zeros(1, 4)]
    for token in tokens:
        states.append(gru(torch.eye(2)[token][None], states[-1]))
        states[-1].retain_grad()
    logits = model.read(states[3])
    torch.nn.functional.cross_entropy(logits, torch.tensor([inside["target"]])).backward()
    assert inside["gradient"] == pytest.approx([state.grad.norm().item() for state in states[1:]], rel=1e-3)  # type: ignore[union-attr]
    jacobian = torch.autograd.functional.jacobian(lambda h: gru(torch.eye(2)[tokens[2]][None], h), states[2].detach())
    assert inside["products"][1] == pytest.approx(torch.linalg.matrix_norm(jacobian[0, :, 0], 2).item(), rel=1e-3)
    hidden = inside["states"][0]
    shown = np.frombuffer(base64.b64decode(hidden["values"]), np.uint8).reshape(4, 3).astype(float)
    wanted = torch.cat(states[1:]).T.detach().numpy()
    assert (shown / 255 * 2 - 1) * hidden["largest"] == pytest.approx(wanted, abs=hidden["largest"] / 200)
    assert [row["name"] for row in inside["gates"]] == ["reset", "update", "candidate"]


def test_a_change_of_the_rate_goes_on_and_a_wrong_one_leaves_the_networks() -> None:
    session = RecurrentSession(SMALL)
    session.advance(3)
    assert session.change(SMALL.model_copy(update={"learning_rate": 0.1})) is False
    assert (session.step, session.optimizer.param_groups[0]["lr"]) == (3, 0.1)
    with pytest.raises(UsageError):
        session.change(SMALL.model_copy(update={"task": "own", "pairs": "nothing"}))
    assert (session.step, session.settings.task) == (3, "parity")
    assert session.change(SMALL) is False
    assert session.change(SMALL.model_copy(update={"units": 5})) is True
    assert session.step == 0


@pytest.mark.parametrize(("task", "length"), [("parity", 5), ("copy", 8), ("xor", 4)])
@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
def test_a_step_of_64_units_is_there_within_a_tenth_of_a_second_of_one_core(cell: str, task: str, length: int) -> None:
    """Three networks: the update, all items judged, and one of them looked into. The best of some: others work here."""
    settings = RecurrentSettings.model_validate({"task": task, "length": length, "cell": cell, "units": 64})
    session, threads = RecurrentSession(settings), torch.get_num_threads()
    torch.set_num_threads(1)
    took = []
    try:
        for _ in range(12):
            begun = time.process_time()
            session.advance(1)
            inside = session.frame(Look())["inside"]
            took.append(time.process_time() - begun)
    finally:
        torch.set_num_threads(threads)
    assert min(took) < 0.1
    assert inside["products"] is None or len(inside["products"]) == inside["at"] + 1


def test_jacobians_are_multiplied_where_that_is_quick() -> None:
    session = RecurrentSession(RecurrentSettings(task="copy", length=12, cell="lstm", units=64, seeds=1))
    assert session.frame(Look())["inside"]["products"] is None
    assert len(session.frame(Look(at=7))["inside"]["products"]) == 8


@pytest.mark.parametrize("cell", cells)
def test_any_registered_cell_learns_and_its_script_computes_the_same(cell: str) -> None:
    session = RecurrentSession(SMALL.model_copy(update={"cell": cell, "units": 8, "seeds": 1}))
    session.advance(2)
    frame = session.frame(Look())
    assert all(value is not None for value in frame["loss"]["new"])
    namespace: dict[str, object] = {"__name__": "exported"}
    exec(compile(script_of(session, 0), "exported.py", "exec"), namespace)
    network = namespace["load"]()  # type: ignore[operator]
    tokens = torch.from_numpy(session.task.new.tokens[:3])
    with torch.no_grad():
        ours = session.network(0)(torch.eye(2)[tokens])
        assert torch.allclose(network(tokens), ours, atol=1e-5)


@pytest.mark.parametrize("cell", ["lstm", "min_gru"])
def test_the_script_runs_by_itself_and_prints_the_shares_that_the_page_shows(cell: str, tmp_path: Path) -> None:
    session = RecurrentSession(SMALL.model_copy(update={"cell": cell}))
    session.advance(30)
    file = tmp_path / "rote_network.py"
    file.write_text(script_of(session, 1))
    said = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "rote" not in re.findall(r"^(?:import|from) (\w+)", file.read_text(), re.M)
    frame = session.frame()
    for name in ("known", "new"):
        assert f"{name}: {frame['accuracy'][name][1]:.5f} of" in said
