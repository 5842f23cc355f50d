"""The studies of conduits: batches, readings, gradients and runs, each against another way."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import rote
from rote.analyses.jacobians import product_norm
from rote.errors import UsageError
from rote.models import LanguageModelConfig, SequenceModel, StackedLanguageModel
from rote.recipes import Trained
from rote.store import FinishedRun, Store, Table
from rote.studies.conduits import rules_training
from rote.studies.conduits.rules import Passes, RulesMeasurement, RulesRecipe
from rote.studies.conduits.rules_training import KINDS, RulesProgram, Windows
from rote.tasks.rules import RulesTask

SMALL = LanguageModelConfig(embedding=4, hidden=5)


TASKS = tuple(RulesTask(400, 6, 10, k) for k in (2, 3))
MEASUREMENT = RulesMeasurement(rules=3, context=4, checked=2)


def recipe(tasks: tuple[RulesTask, ...] = TASKS, **passes: Any) -> RulesRecipe:
    return RulesRecipe(tasks, SMALL, Passes(**{"epochs": 2.0, "batch": 3, "bptt": 11, "measure_every": 0.5, **passes}))


def program() -> RulesProgram:
    return recipe().program((0, 1), "cpu")


def trained(store: Store, by: RulesRecipe, seeds: tuple[int, ...] = (0, 1)) -> Trained:
    (job,) = by.jobs(seeds)
    with store.open(job.request) as run:
        by.fit((), run, lambda done, total: None, "cpu")
        run.finish([])
    return Trained(FinishedRun(store.folder(job.request)))


def measured(training: Trained, asked: RulesMeasurement = MEASUREMENT) -> dict[str, Table]:
    tables = rules_training.measured(asked, training, lambda done, total: None, "cpu")
    return {table.name: table for table in tables}


def model_and_windows(cell: str, k: int = 3) -> tuple[SequenceModel, Windows]:
    task = RulesTask(400, 6, 10, k)
    parts = [task.test(0, kind, 4, 35).windows(0)[:3] for kind in KINDS]
    context = np.random.default_rng(0).integers(0, 6, (6, 4))
    tokens = torch.from_numpy(np.concatenate([context, np.concatenate(parts)], axis=1))
    model = StackedLanguageModel(task.symbols, replace(SMALL, cell=cell, limit=1.0), [1], torch.float64)
    return model.replica(0), Windows(tokens, 4, task.close, KINDS)


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman", "nested_lstm"])
def test_the_norm_of_a_product_of_jacobians_is_that_of_the_whole_gradient_flow(cell: str) -> None:
    model, windows = model_and_windows(cell)
    rule = windows.tokens[:, windows.context :]
    unit = model.recurrent.cell(0, 0)
    for at in (0, 1, 3):
        flow = rote.gradient_flow(model, rule, at)
        alone = product_norm(unit, model.embed(rule), unit.zero_state(len(rule)), at)
        assert torch.equal(alone, flow.products[0][:, 0])


class TestPasses:
    def test_the_published_corpus_has_1429_updates_per_epoch(self) -> None:
        assert Passes().steps_per_epoch(1_000_000) == 1429
        assert Passes().over(1_000_000).steps == 50 * 1429

    def test_batches_are_those_of_the_word_level_language_model_loop(self) -> None:
        """Columns, pieces of bptt rows with the next row as target, a shorter last piece, again from the beginning."""
        stacked = program()
        task, seed = stacked.members[2]
        corpus = task.training(seed).tokens
        columns = torch.from_numpy(corpus[: len(corpus) // 3 * 3]).view(3, -1).t()  # [row, column]
        expected = [
            (columns[row : row + size], columns[row + 1 : row + 1 + size])
            for row in range(0, len(columns) - 1, 11)
            for size in [min(11, len(columns) - 1 - row)]
        ]
        assert stacked.steps == len(expected)
        seen: list[tuple[Tensor, Tensor]] = []
        stacked.model.losses = lambda tokens, targets, state: (seen.append((tokens, targets)), state)
        for step in range(2 * stacked.steps):
            stacked.losses(step)
        for (tokens, targets), (inputs, following) in zip(seen, expected * 2, strict=True):
            assert torch.equal(tokens[2].T, inputs)
            assert torch.equal(targets[2].T, following)

    def test_the_state_is_carried_within_a_pass_and_zero_at_its_beginning(self) -> None:
        stacked = program()
        starts: list[tuple[Tensor, ...]] = []
        original = stacked.model.losses

        def watched(tokens: Tensor, targets: Tensor, state: tuple[Tensor, ...]) -> Any:
            starts.append(tuple(value.clone() for value in state))
            return original(tokens, targets, state)

        stacked.model.losses = watched
        ends = []
        for step in range(stacked.steps + 2):
            stacked.losses(step)
            ends.append(tuple(value.clone() for value in stacked.model.carried))
        for step, start in enumerate(starts):
            expected = ends[step - 1] if step % stacked.steps else tuple(torch.zeros_like(value) for value in start)
            assert all(torch.equal(one, other) for one, other in zip(start, expected, strict=True))
        assert any(bool(value.any()) for value in starts[1])

    def test_measured_epochs_begin_with_none_and_end_with_the_last(self) -> None:
        assert list(Passes(epochs=1.3, measure_every=0.5, batch=2, bptt=5).measured(102).values()) == [0, 0.5, 1.0, 1.3]
        assert list(Passes(epochs=2, batch=2, bptt=5).measured(102)) == [0, 10, 20]

    def test_what_the_training_loop_refuses_is_refused_at_once(self) -> None:
        with pytest.raises(UsageError, match="'learning_rate' must be above 0"):
            Passes(learning_rate=0.0)
        with pytest.raises(UsageError, match="'epochs' must"):
            Passes(epochs=0.0)


class TestReading:
    @torch.no_grad()
    @pytest.mark.parametrize("bias", ["in_span", "exclusive_end", "never"])
    @pytest.mark.parametrize("cell", ["lstm", "gru", "elman", "nested_lstm"])
    def test_probabilities_are_the_softmax_of_each_span_decomposed_by_itself(self, cell: str, bias: Any) -> None:
        model, windows = model_and_windows(cell)
        rows = rules_training.read(model, windows, RulesMeasurement(bias=bias))
        spans = {"open": (4, 4), "conduit": (5, 7), "whole": (4, 7)}
        for kind, row in enumerate(rows):
            tokens = windows.tokens[3 * kind : 3 * kind + 3]
            assert row["kind"] == KINDS[kind]
            for name, span in spans.items():
                relevant = rote.decompose(model, tokens, [span], rules="murdoch2018", bias=bias).relevant[:, 0]
                chances = (relevant @ model.readout.weight.T).softmax(-1)[..., windows.close]
                assert row[name] == pytest.approx(float(chances[:, 7].mean()))  # close stands at step 8
                assert row[f"{name}_at_close"] == pytest.approx(float(chances[:, 8].mean()))
            own = model(tokens).softmax(-1)[..., windows.close].mean(0)
            assert row["own"] == pytest.approx(float(own[7]))
            assert row["own_early"] == pytest.approx(float(own[6]))

    @pytest.mark.parametrize(("at", "step"), [("before_close", 7), ("at_close", 8)])
    def test_prefixes_grow_from_the_open_symbol_to_all_before_close(self, at: Any, step: int) -> None:
        model, windows = model_and_windows("lstm")
        (row, _) = rules_training.read(model, windows, RulesMeasurement(at=at))
        parts = rote.decompose(model, windows.tokens[:3], [(4, 4 + i) for i in range(4)], rules="murdoch2018")
        expected = parts.probabilities()[:, :, step, windows.close].mean(0).tolist()
        assert row["prefixes"] == pytest.approx(expected)
        suffix = "" if at == "before_close" else "_at_close"
        assert row["prefixes"][0] == pytest.approx(row[f"open{suffix}"])
        assert row["prefixes"][-1] == pytest.approx(row[f"whole{suffix}"])

    @pytest.mark.parametrize("k", [1, 3])
    def test_interdependence_is_that_of_the_analysis(self, k: int) -> None:
        model, windows = model_and_windows("lstm", k)
        first, second = torch.zeros(2, 6, 1, 6 + k, dtype=torch.bool)
        first[:, :, 4], second[:, :, 5 : 5 + k] = True, True
        expected = rote.interdependence(model, windows.tokens, first, second).values[:, 0, -2]
        found = [row["interdependence"] for row in rules_training.read(model, windows, RulesMeasurement())]
        assert found == pytest.approx([float(expected[:3].mean()), float(expected[3:].mean())])

    def test_every_bias_rule_and_step_is_reported_as_if_chosen(self) -> None:
        model, windows = model_and_windows("lstm")
        rows = rules_training.by_rule(model, windows)
        assert len(rows) == 2 * 3 * 2
        for row in rows:
            chosen = rules_training.read(model, windows, RulesMeasurement(bias=row["bias"]))[KINDS.index(row["kind"])]
            suffix = "" if row["at"] == "before_close" else "_at_close"
            assert row["open"] == pytest.approx(chosen[f"open{suffix}"])
            assert row["conduit"] == pytest.approx(chosen[f"conduit{suffix}"])

    def test_the_error_is_rounding(self) -> None:
        model, windows = model_and_windows("lstm")
        assert 0 < rules_training.error(model, windows, RulesMeasurement(checked=2)) < 1e-14
        assert 1e-9 < rules_training.error(model.float(), windows, RulesMeasurement(checked=2)) < 1e-5

    @pytest.mark.parametrize("cell", ["lstm", "gru"])
    def test_gradients_are_those_of_autograd_through_the_conduit_only(self, cell: str) -> None:
        model, windows = model_and_windows(cell)
        rows = rules_training.gradients(model, windows, 2)
        unit = model.recurrent.cell(0)
        names, size = unit.state_names, unit.hidden_size

        def after(state: Tensor, tokens: Tensor) -> Tensor:
            parts = tuple(part[None] for part in state.split(size))
            _, (end,) = model.recurrent(model.embed(tokens[None]), initial=[parts])
            return torch.cat([part[0] for part in end])

        for kind, row in enumerate(rows):
            norms, carried = [], []
            for tokens in windows.tokens[3 * kind : 3 * kind + 2]:
                at_open = (
                    after(torch.zeros(len(names) * size, dtype=torch.float64), tokens[:5]).detach().requires_grad_()
                )
                jacobian = torch.autograd.functional.jacobian(lambda s, t=tokens: after(s, t[5:8]), at_open)
                norms.append(math.log10(float(torch.linalg.matrix_norm(jacobian, 2))))
                before_close = after(at_open, tokens[5:8])
                before_close.retain_grad()
                logits = before_close[:size] @ model.readout.weight.T + model.readout.bias
                (-logits.log_softmax(-1)[windows.close]).backward()
                hidden = [state.grad[:size].norm() for state in (at_open, before_close)]
                carried.append(math.log10(float(hidden[0] / hidden[1])))
            assert row["jacobians"] == pytest.approx(sum(norms) / 2)
            assert row["carried"] == pytest.approx(sum(carried) / 2)


class TestRuns:
    def test_a_run_that_is_stopped_anywhere_goes_on_to_the_same_bits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The carried state is what would be lost: without it in the checkpoint the next piece begins elsewhere."""
        monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
        whole, original = trained(Store(tmp_path / "whole"), recipe()), RulesProgram.losses
        for stop in (1, 7, 13, 14):

            def losses(self: RulesProgram, step: int, stop: int = stop) -> Tensor:
                if step == stop:
                    raise RuntimeError("power cut")
                return original(self, step)

            store = Store(tmp_path / str(stop))
            monkeypatch.setattr(RulesProgram, "losses", losses)
            with pytest.raises(RuntimeError, match="power"):
                trained(store, recipe())
            monkeypatch.setattr(RulesProgram, "losses", original)
            again = trained(store, recipe())
            assert again.steps == whole.steps
            for step in whole.steps:
                one, other = again.weights(step), whole.weights(step)
                assert one.keys() == other.keys()
                assert all(torch.equal(one[name], other[name]) for name in one)
            assert measured(again) == measured(whole)

    def test_stacked_networks_find_what_each_finds_alone(self, tmp_path: Path) -> None:
        tasks = tuple(RulesTask(400, 6, n, 2) for n in (5, 20))

        def rows(some: tuple[RulesTask, ...], seeds: tuple[int, ...]) -> list[dict[str, Any]]:
            return measured(trained(Store(tmp_path), recipe(some, dtype="float64"), seeds))["measures"].records()

        together = rows(tasks, (0, 1))
        alone = [row for task in tasks for seed in (0, 1) for row in rows((task,), (seed,))]
        key = ("n", "seed", "kind", "epoch")
        alone, together = (sorted(rows, key=lambda row: [str(row[name]) for name in key]) for rows in (alone, together))
        for one, other in zip(alone, together, strict=True):
            for name, value in one.items():
                if name != "error":  # of rounding
                    assert value == (pytest.approx(other[name], rel=1e-6) if isinstance(value, float) else other[name])

    def test_tables_have_a_row_for_every_network_kind_and_epoch(self, tmp_path: Path) -> None:
        tables = measured(trained(Store(tmp_path), recipe()))
        assert len(tables["measures"].rows) == 4 * 2 * 5
        assert {row["epoch"] for row in tables["measures"].records()} == {0, 0.5, 1, 1.5, 2}
        assert len(tables["prefixes"].rows) == 2 * 2 * (3 + 4)
        assert len(tables["variants"].rows) == 4 * 2 * 6
        assert [row["whole"] for row in tables["corpora"].records()] == [10] * 4
        assert all(row["jacobians"] is not None for row in tables["measures"].records())

    def test_what_is_slow_is_measured_at_some_epochs_from_the_first_on(self, tmp_path: Path) -> None:
        rows = measured(trained(Store(tmp_path), recipe()), replace(MEASUREMENT, gradients_every=2))[
            "measures"
        ].records()
        for name in ("error", "jacobians", "carried"):
            assert {row["epoch"] for row in rows if row[name] is not None} == {0, 1, 2}

    def test_networks_are_those_that_were_measured_and_named_by_their_corpus(self, tmp_path: Path) -> None:
        """A wrong order would show one network under the name of another."""
        training = trained(Store(tmp_path), recipe())
        measures = measured(training)["measures"]
        for step, epoch in training.recipe.measured().items():
            rows = measures.where(epoch=epoch).records()
            for network, row in zip(training.networks(step), rows[::2], strict=True):
                setting = f"random conduits, k = {row['k']}, n = 10"
                assert network.labels == {"cell": "lstm", "setting": setting, "seed": row["seed"], "step": step}
                task = TASKS[row["k"] - 2]
                windows = rules_training.windows_of(task, row["seed"], MEASUREMENT, torch.device("cpu"))
                (own, _) = rules_training.read(network.model.double(), windows, MEASUREMENT)
                assert own["own"] == row["own"]
        assert network.inputs == network.outputs == ("0", "1", "2", "3", "4", "5", "(", ")")
        assert network.example == "0 1 ( 1 2 3 )"
