"""The numbers on which the claims about the plane are judged, from the study's tables. One value per seed."""

from __future__ import annotations

from rote.claims import Estimate, Tables, mean, paired_difference, proportion

COMPOSITIONAL = 0.01  # a seed is compositional when it gets at most this share of the held-out corner wrong


def compositional_seeds(tables: Tables, setting: str) -> Estimate:
    wrong = tables["seeds"].where(setting=setting).column("corner_wrong")
    return proportion(sum(share <= COMPOSITIONAL for share in wrong), len(wrong))


def excess_error(tables: Tables, setting: str) -> Estimate:
    rows = tables["seeds"].where(setting=setting)
    return paired_difference(rows.column("corner_wrong"), rows.column("seen_wrong"))


def seed_mean(tables: Tables, setting: str, column: str) -> Estimate:
    return mean(tables["seeds"].where(setting=setting).column(column), bounds=(0.0, 1.0))


def against(tables: Tables, control: str) -> Estimate:
    seeds = tables["seeds"]
    return paired_difference(
        seeds.where(setting="redundant").column("corner_wrong"), seeds.where(setting=control).column("corner_wrong")
    )


def first_step_share(tables: Tables, setting: str) -> Estimate:
    """Over the seeds that learned anything: of a loss that did not fall there is no share."""
    rows = tables["seeds"].where(setting=setting).records()
    learned = [row for row in rows if row["loss_end"] < row["loss_0"]]
    return mean([(row["loss_0"] - row["loss_1"]) / (row["loss_0"] - row["loss_end"]) for row in learned])
