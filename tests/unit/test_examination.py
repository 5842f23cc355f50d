"""The profile of an examination: what its scores, outcomes and index are made of, and which modules are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from rote.errors import UsageError
from rote.examination import Profile, TaskProfile, battery, examination, kept_profiles, minimal_pairs
from rote.examination.checks import check_learner
from rote.examination.learners import FITTED, PARAMETERS, enter, known_learners, learner
from rote.examination.plan import RATES, equally_good, planned, rates_of, seconds_of
from rote.examination.profile import task_profile
from rote.examination.training import ExaminationProgram, answers, bits, cue_share, made
from rote.laboratory.perform import threads
from rote.training import TrainingConfig


def rows(task: str, new: list[float], *, known: float = 1.0, zero: float = 0.2) -> TaskProfile:
    """A task on which seeds got these shares of the new items right."""
    trainings = [
        {"learner": "x", "task": task, "seed": seed, "rate": 0.004, "known": known, "new": value, "curve": [],
         "examples": [], "others": []}
        for seed, value in enumerate(new)
    ]  # fmt: skip
    references = {seed: {"new": 0.1, "zero": zero, "rule": 1.0} for seed in range(len(new))}
    return task_profile(task, trainings, references, [])


def profile(*tasks: TaskProfile) -> Profile:
    return Profile("mine", 100, {task.name: task for task in tasks}, {"seeds": [0, 1, 2, 3, 4]})


def test_a_score_runs_from_what_needs_no_rule_to_the_rule():
    assert rows("lookup", [0.2, 1.0, 0.6, 0.0]).scores == pytest.approx({0: 0.0, 1: 1.0, 2: 0.5, 3: -0.25})


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        ([0.9] * 5, "rule"),
        ([0.9, 0.9, 0.9, 0.5, 0.5], "partly"),
        ([0.2] * 5, "by rote"),
        ([0.0] * 5, "misled"),
        ([0.9, 0.9, 0.2, 0.0, 0.5], "undecided"),
        ([0.9] * 3, "rule?"),  # which three seeds do not decide
    ],
)
def test_outcomes_count_seeds(new: list[float], outcome: str):
    assert rows("lookup", new).outcome == outcome


def test_the_sentence_marks_what_too_few_seeds_say():
    found = profile(rows("lookup", [0.9] * 5), rows("parity", [0.9] * 3), rows("recall", [0.0] * 5))
    assert found.sentence == "Follows the rule: lookup, parity?. Misled by what it remembers: recall."


def test_what_is_not_learned_is_never_by_rote_and_no_part_of_the_index():
    unlearned = rows("parity", [0.2] * 5, known=0.6)
    found = profile(rows("lookup", [1.0] * 5), unlearned)
    assert unlearned.outcome == "not learned"
    assert unlearned.score is None
    assert found.score is not None
    assert (found.score.value, len(found.scored), found.asked) == (1.0, 1, 2)


def test_over_all_tasks_what_was_not_learned_counts_nothing():
    some = rows("lookup", [1.0] * 5)
    half = TaskProfile("lookup", tuple({**run, "learned": run["seed"] < 3} for run in some.runs))
    unlearned, solved, failed = (
        rows("parity", [1.0] * 5, known=0.6),
        rows("s3", [1.0] * 5, zero=1.0),
        TaskProfile("recall", ()),
    )
    found = profile(half, unlearned, rows("memory", [1.0] * 5), solved)
    assert found.score is not None
    assert found.score.value == 1.0
    assert found.score_of_all is not None
    assert found.score_of_all.value == pytest.approx((0.6 + 0.0) / 2)
    assert found.score_of_all.low < 0.3 < found.score_of_all.high  # of three and two seeds
    failing = profile(half, unlearned, failed).score_of_all
    assert failing is not None
    assert failing.value == pytest.approx(0.2)


def test_a_task_that_memory_solves_is_no_test():
    solved = rows("lookup", [1.0] * 5, zero=1.0)
    assert (solved.outcome, solved.score) == ("no test", None)
    assert profile(solved).score is None
    assert profile(solved).to_table().rows


def test_the_index_is_the_mean_over_dimensions_with_scores_cut_off():
    found = profile(
        rows("lookup", [1.0] * 5), rows("recombine", [0.6] * 5), rows("parity", [0.0] * 5), rows("s3", [1.0] * 5)
    )
    assert found.dimensions["recombination"].value == pytest.approx(0.75)
    assert found.dimensions["state"].value == pytest.approx(0.5)  # misled counts as 0
    assert found.score is not None
    assert found.score.value == pytest.approx(0.625)
    assert found.score_of_other_tasks is not None
    assert found.score_of_other_tasks.low < found.score.low


def test_a_comparison_is_of_the_same_seeds_and_needs_evidence():
    better, worse = rows("lookup", [0.9] * 5), rows("lookup", [0.5] * 5)
    (row,) = profile(better).compare(profile(worse)).records()
    assert (row["composes"], row["more"], row["seeds"]) == ("more", 5, 5)
    (row,) = profile(worse).compare(profile(better)).records()
    assert row["composes"] == "less"
    (row,) = profile(rows("lookup", [0.9, 0.9])).compare(profile(rows("lookup", [0.5, 0.5]))).records()
    assert row["composes"] == "open"


def test_a_profile_is_saved_and_read_to_the_last_digit(tmp_path: Path):
    found = profile(rows("lookup", [0.9, 0.31, 0.7, 0.4, 1 / 3]), rows("parity", [0.6] * 5))
    again = Profile.load(found.save(tmp_path / "mine.json"))
    assert again.to_plain() == found.to_plain()
    assert again.figure().spec() == found.figure().spec()


def test_a_profile_of_another_battery_is_refused():
    plain = {**profile(rows("lookup", [0.9] * 5)).to_plain(), "battery": 0}
    with pytest.raises(UsageError, match="version 0 of the battery"):
        Profile.from_plain(plain, "mine.json")


def test_a_plan_gives_up_seeds_then_rates_then_tasks():
    costs = {"recall": 10.0, "parity": 10.0}
    full = planned(costs, 140.0, 5)
    assert (len(full.seeds), full.rates, full.seconds, full.left_out) == (5, RATES, 140.0, ())
    assert [len(planned(costs, budget, 5).seeds) for budget in (139.0, 99.0, 79.0)] == [3, 2, 2]
    assert planned(costs, 79.0, 5).rates == RATES[:1]
    assert planned(costs, 39.0, 5).left_out == ("parity",)
    assert planned(costs, 1.0, 5, all_tasks=True).left_out == ()
    assert len(planned(costs, 1.0, 5, finished={"recall": 7, "parity": 7}).seeds) == 5  # nothing is left to do


def test_rates_that_are_equally_good_on_known_items_are_shared_by_the_seeds():
    assert equally_good({0.004: 1.0, 0.0015: 0.985, 0.01: 0.5}) == (0.004, 0.0015)
    assert rates_of([0, 1, 2], (0.004, 0.0015)) == {0: 0.004, 1: 0.0015, 2: 0.004}


def test_the_cosine_rises_and_falls_to_its_share():
    config = TrainingConfig(steps=100, learning_rate=0.01, schedule="cosine", decay=0.05)
    rates = [config.learning_rate_at(step) for step in range(101)]
    assert rates[0] == pytest.approx(0.002)
    assert max(rates) == rates[5] == pytest.approx(0.01)
    assert rates[100] == pytest.approx(0.0005)
    assert rates[5:] == sorted(rates[5:], reverse=True)
    middle = 5 + 95 / 2
    assert config.learning_rate_at(int(middle)) == pytest.approx(0.01 * (0.05 + 0.95 / 2), rel=0.03)
    assert not math.isnan(rates[-1])


KEPT = {profile.name: profile for profile in kept_profiles()}


def kept_score(name: str, task: str) -> float:
    score = KEPT[name].tasks[task].score
    assert score is not None
    return score.value


def test_the_kept_profiles_show_what_is_published_about_these_units():
    for name in ("elman", "gru", "lstm"):  # one recurrent layer tracks states (Merrill et al. 2024)
        assert kept_score(name, "parity") > 0.95
        assert kept_score(name, "s3") > 0.95
        assert kept_score(name, "recall") < 0.1  # Arora et al. 2023
    assert kept_score("lstm", "count") > kept_score("gru", "count") > kept_score("elman", "count")  # Weiss et al. 2018
    assert kept_score("transformer", "recall") > 0.9  # Arora et al. 2023: attention recalls
    for name in ("transformer", "min_gru"):  # although they have learned the known items
        assert kept_score(name, "parity") < 0.35  # Delétang et al. 2023; Grazzi et al. 2025
        assert KEPT[name].tasks["s3"].outcome == "not learned"  # Merrill et al. 2024: it takes depth
    assert kept_score("transformer", "recombine") > kept_score("lstm", "recombine")  # Hupkes et al. 2020
    for name in ("elman", "gru"):  # Liska et al. 2018: with the intermediate answers
        assert kept_score(name, "lookup") > 0.8
    for profile in KEPT.values():
        assert len(profile.plan["seeds"]) >= 5
        assert not profile.plan["left_out"]
        assert profile.bits is not None
        if profile.name not in FITTED:
            assert profile.bits.value < 3.6 * profile.parameters  # Morris et al. 2025


def knows_number(sentences: list[str]) -> list[float]:
    """A language model that looks at the subject alone, and at nothing else."""
    return [float(sentence.split()[1].endswith("s") != sentence.rstrip(".").endswith("s")) for sentence in sentences]


def follows_the_last_noun(sentences: list[str]) -> list[float]:
    return [float(sentence.split()[-2].endswith("s") != sentence.rstrip(".").endswith("s")) for sentence in sentences]


def test_minimal_pairs_tell_a_rule_from_the_nearest_noun():
    rule = {row["kind"]: row for row in minimal_pairs(knows_number).records()}
    near = {row["kind"]: row for row in minimal_pairs(follows_the_last_noun).records()}
    for depth in (0, 1, 2, 4):
        kind = f"agreement, {depth} nouns between"
        assert rule[kind]["right"] == 1.0
        assert near[kind]["right"] == (0.0 if depth else 1.0)
        assert near[kind]["outcome"] == ("misled" if depth else "rule")


def test_pairs_of_ones_own_are_read_in_two_forms(tmp_path: Path):
    lines = ['{"sentence_good": "a b", "sentence_bad": "b", "UID": "length"}', "long one\tshort\tother"]
    (tmp_path / "pairs.txt").write_text("\n".join(lines))
    table = minimal_pairs(lambda sentences: [float(len(sentence)) for sentence in sentences], tmp_path / "pairs.txt")
    assert [(row["kind"], row["right"]) for row in table.records()] == [("length", 1.0), ("other", 1.0)]


@pytest.mark.parametrize(
    ("text", "told"), [("", "no pairs"), ("one", "Got 1 parts"), ("{x", "no JSON"), ('{"a": 1}', "sentence_good")]
)
def test_what_is_wrong_with_a_file_of_pairs_is_told_with_its_line(tmp_path: Path, text: str, told: str):
    (tmp_path / "pairs.txt").write_text(text)
    with pytest.raises(UsageError, match=told):
        minimal_pairs(lambda sentences: [0.0 for _ in sentences], tmp_path / "pairs.txt")


def test_a_score_of_another_shape_or_no_number_is_refused():
    with pytest.raises(UsageError, match="one number for each"):
        minimal_pairs(lambda sentences: [0.0])
    with pytest.raises(UsageError, match="fails on a list of sentences: SystemExit: no"):
        minimal_pairs(ends_the_program)
    with pytest.raises(UsageError, match="no finite number for 'The"):
        minimal_pairs(lambda sentences: [math.nan for _ in sentences])


class Tagger(nn.Module):
    def __init__(self, symbols: int, **options: Any) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Embedding(symbols, 8), nn.LazyLinear(symbols)
        self.recurrent = nn.GRU(8, 8, batch_first=True, **options)
        self.readout(torch.zeros(1, 16 if options else 8))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(self.embedding(tokens))
        logits: torch.Tensor = self.readout(hidden)
        return logits


def bidirectional(symbols: int) -> nn.Module:
    return Tagger(symbols, bidirectional=True)


class Noisy(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens) + torch.rand(())


class Batchwise(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = super().forward(tokens)
        return logits - logits.mean(0)


class Last(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens)[:, -1]


class Short(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if tokens.shape[1] > 16:
            raise ValueError("too long")
        return super().forward(tokens)


class Long(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if tokens.shape[1] < 16:
            raise ValueError("too short")
        return super().forward(tokens)


def frozen(symbols: int) -> nn.Module:
    return Tagger(symbols).requires_grad_(False)


def lazy(symbols: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(symbols, 8), nn.LazyLinear(symbols))


def same(symbols: int) -> nn.Module:
    torch.manual_seed(1)
    return Tagger(symbols)


def careless(symbols: int) -> nn.Module:
    torch.set_default_dtype(torch.float64)
    return Tagger(symbols)


def unseeded(symbols: int) -> nn.Module:
    made = Tagger(symbols)
    generator = torch.Generator()
    generator.seed()
    with torch.no_grad():
        made.embedding.weight.copy_(torch.rand(made.embedding.weight.shape, generator=generator))
    return made


def huge(symbols: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(symbols, 2000), nn.Linear(2000, 3000), nn.Linear(3000, symbols))


def none(symbols: int) -> nn.Module:
    return nn.Identity()


def no_module(symbols: int) -> int:
    return symbols


def ends_the_program(symbols: int) -> nn.Module:
    raise SystemExit("no GPU here")


class Ending(Tagger):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (bidirectional, "looks ahead"),
        (Noisy, "answers otherwise when it is asked again"),
        (Batchwise, "a row alone"),
        (Last, r"Got \(4, 33\)"),
        (Short, "ValueError: too long"),
        (Long, r"fails on tokens \[4, 4\] below 33: ValueError: too short"),
        (unseeded, "other weights"),
        (same, "the same weights with every seed"),
        (careless, "changes torch's default dtype"),
        (frozen, "no parameter that learns"),
        (lazy, "parameters without a shape"),
        (huge, "parameters"),
        (none, "no parameters"),
        (no_module, "must give an nn.Module"),
        (ends_the_program, "fails: SystemExit: no GPU here"),
        (Ending, r"fails on tokens \[4, 64\] below 33: SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_examined_is_refused_in_one_line(make: Any, told: str):
    name = f"tests:{make.__name__}"
    enter(name, make)
    with pytest.raises(UsageError, match=told) as caught:
        check_learner(name)
    assert "\n" not in str(caught.value)
    assert torch.get_default_dtype() == torch.float32


def test_what_is_registered_can_be_examined_at_about_one_size():
    for name in known_learners():
        count = check_learner(name)
        assert count == 0 if name in FITTED else 0.4 * PARAMETERS < count < 4 * PARAMETERS, name
    assert torch.equal(*(next(made("lstm", 9, 3).parameters()) for _ in range(2)))
    assert not torch.equal(*(next(made("lstm", 9, seed).parameters()) for seed in (3, 4)))
    assert learner("lstm")(7)(torch.zeros(2, 5, dtype=torch.int64)).shape == (2, 5, 7)


def test_the_share_of_the_cue_is_that_of_its_gradient():
    """Of a model that reads one symbol after another, what is said at a place depends on that place alone."""
    task = battery["lookup"]()
    items = task.draw(0).known[:16]
    torch.manual_seed(0)
    local = nn.Sequential(nn.Embedding(len(task.symbols), 8), nn.Linear(8, len(task.symbols)))
    assert cue_share(local, items) is None  # every symbol is of the cue: there is nothing to compare with
    marked = replace(items, cue=items.scored)
    assert cue_share(local, marked) == pytest.approx(1.0)
    assert answers(local, items).shape == items.tokens.shape


def test_bits_are_none_before_training_and_all_of_them_for_a_table_of_the_labels():
    task = battery["memory"]()
    items = task.draw(0).train
    labels = len({int(label) for label in items.targets[items.scored]})
    most = math.log2(labels) * items.scored.sum()

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(()))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            wanted = torch.from_numpy(items.targets).clamp(min=0)
            return 50 * nn.functional.one_hot(wanted, len(task.symbols)).float() + self.weight

    assert bits(Table(), items) == pytest.approx(most, rel=1e-6)
    assert bits(made("lstm", len(task.symbols), 0), items) < 0.1 * most


def test_updates_are_timed_with_as_many_threads_as_trainings_have(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    losses = ExaminationProgram.losses

    def watched(self: ExaminationProgram, step: int) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return losses(self, step)

    monkeypatch.setattr(ExaminationProgram, "losses", watched)
    with threads(2):
        assert seconds_of("gru", "lookup") > 0
        assert torch.get_num_threads() == 2
    assert set(seen) == {1}


def test_once_the_time_is_used_up_no_further_task_is_timed(monkeypatch: pytest.MonkeyPatch):
    timed: list[str] = []

    def slow(name: str, task: str, kind: str, form: str) -> float:
        timed.append(task)
        return 30.0

    monkeypatch.setattr(examination, "seconds_of", slow)
    tasks = ["recall", "parity", "s3", "count"]
    costs = examination._costs("lstm", "tokens", tasks, 100.0, {})
    assert timed == ["recall", "parity"]  # two seeds of each: 120 seconds
    assert planned(costs, 100.0, 5).tasks == ("recall",)
    timed.clear()
    examination._costs("lstm", "tokens", tasks, 100.0, dict.fromkeys(tasks, 7))  # nothing is left to be trained
    assert timed == tasks


def test_a_task_that_fails_while_it_is_timed_keeps_its_place_for_its_training_to_tell(monkeypatch: pytest.MonkeyPatch):
    def failing(name: str, task: str, kind: str, form: str) -> float:
        if task == "parity":
            raise RuntimeError("41 steps are too many")
        return 30.0

    monkeypatch.setattr(examination, "seconds_of", failing)
    costs = examination._costs("lstm", "tokens", ["recall", "parity", "s3"], 1000.0, {})
    assert costs == {"recall": 30.0, "parity": 0.0, "s3": 30.0}


def test_a_model_that_is_too_slow_for_the_time_is_told_so_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(examination, "seconds_of", lambda *words: 600.0)
    with pytest.raises(UsageError, match=r"gru has [\d,]+ parameters, too many for 1 minutes: 2 trainings on recall"):
        examination.examine("gru", minutes=1, against=(), store=tmp_path / "store", workers=1)
    assert not (tmp_path / "store").exists()


def test_the_words_of_a_profile_can_be_read_on_a_dark_page():
    spec = KEPT["lstm"].figure().spec()
    words = [layer["mark"] for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    assert [mark["style"] for mark in words] == ["strong-note"] * 2  # which has the ink of the page


def test_a_failed_task_is_told_as_such():
    failed = TaskProfile("parity", (), ("At step 3 'loss' is not finite.",))
    assert profile(rows("lookup", [0.9] * 5), failed).sentence == "Follows the rule: lookup. Failed: parity."
