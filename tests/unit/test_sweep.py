"""Sweeps: what is tried, what it is compared by, what is known before any work, and the figure."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rote.errors import RunFailedError, UnknownNameError, UsageError
from rote.figures import draw, export
from rote.laboratory import Laboratory, known_tables
from rote.laboratory import sweep as module
from rote.laboratory.estimates import Expectation
from rote.laboratory.search_space import count, grid, grid_trial, parse_space, random_trials, varied
from rote.laboratory.sweep import Objective, Outcome, Sweep, _table, estimate, sweep
from rote.store import Column, Store, Table


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    return Laboratory(Store(tmp_path / "store"), workers=2)


# --- the space ---------------------------------------------------------------------------------------------------


def test_a_grid_is_every_combination_once_and_each_can_be_had_by_its_number() -> None:
    space = parse_space(["a=1,2,3", "b=x,y", "c=0", "d=p,q"])
    trials = list(grid(space))
    assert trials == [dict(zip("abcd", values, strict=True)) for values in itertools.product("123", "xy", "0", "pq")]
    assert count(space) == 12
    assert [grid_trial(space, number) for number in range(12)] == trials
    assert varied(space) == ["a", "b", "d"]


def test_the_size_of_a_grid_is_known_without_making_it() -> None:
    space = parse_space([f"key{number}={','.join(map(str, range(1000)))}" for number in range(10)])
    assert count(space) == 10**30
    assert grid_trial(space, 10**30 - 1) == {f"key{number}": "999" for number in range(10)}


def test_random_trials_depend_on_the_seed_alone_and_stay_in_their_ranges() -> None:
    space = parse_space(["rate=0.001..0.1", "hidden=4..8", "cell=elman,lstm"])
    trials = random_trials(space, 40, seed=0)
    assert trials == random_trials(space, 40, seed=0) != random_trials(space, 40, seed=1)
    assert random_trials(space, 60, seed=0)[:40] == trials  # more of them begin with the same
    rates = [float(trial["rate"]) for trial in trials]
    assert all(0.001 <= rate <= 0.1 for rate in rates)
    assert 8 < sum(rate < 0.01 for rate in rates) < 32  # as many in each decade: drawn on a logarithmic scale
    assert {int(trial["hidden"]) for trial in trials} == set(range(4, 9))
    assert len({tuple(trial.items()) for trial in trials}) == len(trials)


# --- what is known before ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "told"),
    [(("networs", "dev"), "Unknown table 'networs' of tagging"), (("networks", "deb"), "Unknown column 'deb'")],
)
def test_a_wrong_objective_is_told_before_any_work_in_an_empty_store(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch, of: tuple[str, str], told: str
) -> None:
    monkeypatch.setattr(Laboratory, "run_all", lambda *given: pytest.fail("work was begun"))
    asked = Sweep("tagging", parse_space(["model.hidden=4,8"]), objective=Objective(*of))
    with pytest.raises(UnknownNameError, match=told):
        sweep(laboratory, asked)
    assert not laboratory.store.root.exists()


def test_the_package_knows_the_tables_of_every_study(tmp_path: Path) -> None:
    """One that was added or renamed has none: python -m rote.laboratory.costs STORE ..."""
    from rote.laboratory import studies

    own = [name for name in studies if studies[name].source.id != "900"]
    assert [name for name in own if not known_tables.packaged().get(name)] == []


def test_where_nobody_knows_the_tables_the_first_trial_alone_finds_out_and_is_kept(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[int] = []

    def outcomes(laboratory: Laboratory, asked: Sweep, trials: list[Any]) -> list[Outcome]:
        asked_for.append(len(trials))
        return [Outcome(trial, 1.0, [1.0], "run") for trial in trials]

    monkeypatch.setattr(module, "_outcomes", outcomes)
    asked = Sweep("tagging", parse_space(["model.hidden=4,8,16"]))
    sweep(laboratory, asked)
    monkeypatch.setattr(module, "known_tables", lambda store, study: None)
    sweep(laboratory, asked)
    assert asked_for == [3, 1, 2]


def test_runs_of_all_trials_are_given_out_together_in_batches(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[int] = []

    def run_all(self: Laboratory, name: str, preset: str, trials: list[Any]) -> list[RunFailedError]:
        asked_for.append(len(trials))
        assert all(trial["variants"] == "own" for trial in trials)  # what the study sets for a sweep
        return [RunFailedError("no") for _ in trials]

    monkeypatch.setattr(Laboratory, "run_all", run_all)
    hidden = ",".join(map(str, range(1, 101)))
    found = sweep(laboratory, Sweep("tagging", parse_space([f"model.hidden={hidden}", "seeds=3"])))
    assert asked_for == [51, 49]  # 3 trainings, their measurement and the baselines for each trial, 256 at once
    assert found.column("failed") == ["no"] * 100
    assert found.column("score") == [None] * 100


def test_a_large_sweep_is_estimated_from_a_sample_as_the_sum_of_its_trials(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expected(study: Any, configs: list[Any], workers: int, store: Store) -> Expectation:
        spent = sum(config.model.hidden for config in configs)  # so that it matters which trials are looked at
        return Expectation(len(configs) * 4, 0, float(spent), spent, workers, "")

    monkeypatch.setattr(module, "expected", expected)
    for size in (5, 1000):
        hidden = ",".join(str(number) for number in range(1, size + 1))
        found = estimate(laboratory, Sweep("tagging", parse_space([f"model.hidden={hidden}"])))
        exact = size * (size + 1) / 2
        assert found.runs == 4 * size
        assert found.seconds == pytest.approx(exact, rel=0.05)
        assert found.rough is (size == 1000)


@pytest.mark.parametrize(
    ("words", "changes", "told"),
    [
        (["model.hidden=4..8"], {}, "A grid needs values for 'model.hidden'"),
        (["model.cell=1..2"], {"trials": 2}, "'model.cell' takes no numbers"),
        (["variants=elman,lstm"], {}, "is a list by itself"),
        (["model.hidden=4,8"], {"trials": 0}, "needs the number of trials"),
        (["model.hidden=4,8"], {"trials": 2, "method": "grid"}, "Leave out --trials"),
        (["model.hidden=4,0"], {}, "must be at least 1"),
        (["model.hidden=4,8,4"], {}, "'model.hidden' must name each value once. Got 4 2 times"),
        (["model.hidden=8,8.0"], {}, "'model.hidden' must name each value once"),
        (["training.momentum=0,0.0"], {"trials": 2}, "'training.momentum' must name each value once"),
    ],
)
def test_what_cannot_be_swept_is_refused(words: list[str], changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Sweep("tagging", parse_space(words), **changes)


def result_of(*rows: dict[str, Any]) -> Any:
    made = Table.make("t", "T", tuple(Column(name) for name in rows[0]), rows)
    return SimpleNamespace(study=SimpleNamespace(name="own"), run=SimpleNamespace(tables=lambda: {"t": made}))


def test_the_interval_of_a_score_is_over_seeds_and_never_over_the_settings_in_a_table() -> None:
    objective = Objective("t", "right")
    by_setting = [{"setting": name, "right": value} for name, value in (("a", 0.0), ("b", 0.5), ("c", 1.0))]
    assert objective.of(result_of(*by_setting)) == (0.5, [])
    both = [
        {"setting": name, "seed": seed, "right": value + 0.1 * seed}
        for name, value in (("a", 0.0), ("b", 0.5), ("c", 1.0))
        for seed in (0, 1)
    ]
    score, values = objective.of(result_of(*both))
    assert (score, values) == (pytest.approx(0.55), pytest.approx([0.5, 0.6]))
    missing = [{"seed": 0, "right": 0.2}, {"seed": 0, "right": None}, {"seed": 1, "right": 0.4}]
    assert objective.of(result_of(*missing)) == (pytest.approx(0.3), [0.2, 0.4])


def test_a_table_without_seeds_gives_scores_without_interval_and_says_so() -> None:
    asked = Sweep("plane", parse_space(["model.hidden=4,8"]), objective=Objective("outcome", "corner_wrong"))
    made = _table(asked, [Outcome(trial, 0.5, [], "run") for trial in asked.made()])
    assert [(row["low"], row["high"], row["seeds"]) for row in made.records()] == [(None, None, None)] * 2
    assert "does not tell seeds apart" in made.note
    assert export(draw(made), "svg").startswith(b"<svg")


def test_a_column_of_words_is_no_score() -> None:
    with pytest.raises(UsageError, match="'right' of the table 't' holds no numbers, such as 'yes'"):
        Objective("t", "right").of(result_of({"right": "yes"}))


# --- table and figure --------------------------------------------------------------------------------------------


def table(*words: str, **changes: Any) -> Table:
    asked = Sweep("tagging", parse_space(words), **changes)
    found = [
        Outcome(trial, 0.1 * number + 0.01, [0.1 * number + 0.01 * seed for seed in range(3)], f"run {number}")
        for number, trial in enumerate(asked.made())
    ]
    return _table(asked, [*found, Outcome(asked.made()[0], None, [], None, "diverged")])


def test_the_best_trial_comes_first_with_its_spread_and_failures_last() -> None:
    made = table("model.hidden=4,8,16", "seeds=3")
    assert [column.name for column in made.columns] == [
        "model.hidden", "score", "low", "high", "seeds", "run", "failed",
    ]  # fmt: skip
    assert made.column("run") == ["run 2", "run 1", "run 0", None]
    assert made.rows[0][1] == pytest.approx(0.21)
    assert made.rows[0][2] < 0.21 < made.rows[0][3]
    assert made.rows[-1][-1] == "diverged"
    lowest = replace(Objective("networks", "dev"), best="min")
    assert table("model.hidden=4,8,16", objective=lowest).column("run") == ["run 0", "run 1", "run 2", None]


@pytest.mark.parametrize(
    ("words", "panels"),
    [
        (["model.hidden=4,8"], 1),
        (["model.hidden=4,8", "model.cell=elman,lstm"], 2),
        (["model.cell=elman,lstm", "model.hidden=4,8,16", "model.layers=1,2"], 3),
        (["model.hidden=4,8,16,32,64,128,256", "training.batch=1,2,3,4,5,6,7"], 2),
        (["model.hidden=4"], 1),
    ],
)
def test_the_figure_has_a_panel_for_each_value_of_the_second_key_or_for_each_key(words: list[str], panels: int) -> None:
    figure = draw(table(*words))
    spec = figure.spec()
    assert len(spec.get("concat", [spec])) == panels
    shown = {row["run"] for rows in figure.data.values() for row in rows}
    assert None not in shown  # the one that failed
    assert len(shown) == len(table(*words).rows) - 1
    assert export(figure, "svg").startswith(b"<svg")


def test_every_panel_shows_its_own_trials() -> None:
    """A filter on a layer whose marks have data of their own filtered nothing."""
    spec = draw(table("model.hidden=4,8", "model.cell=elman,lstm")).spec()
    for panel in spec["concat"]:
        for mark in panel["layer"]:
            first = mark["transform"][0]["filter"]
            assert first == {"field": "panel", "equal": panel["title"].split(" = ")[1]}


def test_a_figure_as_a_page_has_everything_in_one_file_and_no_text_ends_its_script() -> None:
    made = Table(**{**table("model.hidden=4,8").__dict__, "note": "</script><b>"})
    page = export(made, "html").decode()
    assert page.count("<script>") == page.count("</script>") == 2
    assert "vegaEmbed(" in page
    assert "http" not in page.split("<script>")[0]


def test_columns_are_those_that_were_measured() -> None:
    made = Table.make("t", "T", (Column("a", role="label"), Column("b")), [])
    assert known_tables.columns_of(made) == ["b"]
    assert known_tables.united([{"t": ["b"]}, {"t": ["c", "b"], "u": []}]) == {"t": ["b", "c"], "u": []}
