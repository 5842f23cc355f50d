"""The page on verdicts: every number on it is computed again."""

from __future__ import annotations

import math
import re
from pathlib import Path

from rote.claims import decide, log_evidence, share_interval
from rote.claims.counting import LIKELY
from rote.claims.register import BLOCK
from rote.laboratory import StudyConfig

PAGE = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8")


def cells(beginning: str) -> list[str]:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {beginning} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def decided(share: float, most: int) -> dict[int, tuple[float, float]]:
    """By number of seeds, added from 5 on: the probability that a statement that holds in this share of all seeds is
    called supported, and contradicted, by then."""
    still_open, supported, contradicted, found = {0: 1.0}, 0.0, 0.0, {}
    for n in range(1, most + 1):
        following: dict[int, float] = {}
        for k, probability in still_open.items():
            for more, weight in ((1, share), (0, 1 - share)):
                following[k + more] = following.get(k + more, 0.0) + probability * weight
        outcomes = {k: decide(k, n) if n >= 5 else "open" for k in following}
        supported += sum(p for k, p in following.items() if outcomes[k] == "supported")
        contradicted += sum(p for k, p in following.items() if outcomes[k] == "contradicted")
        still_open = {k: p for k, p in following.items() if outcomes[k] == "open"}
        found[n] = supported, contradicted
    return found


def test_the_seeds_that_decide() -> None:
    needed = dict(zip(map(int, cells("seeds that dissent")), map(int, cells("seeds needed")), strict=True))
    assert len(needed) == 5
    for dissenting, n in needed.items():
        assert decide(n - dissenting, n) == "supported"
        assert decide(dissenting, n) == "contradicted"
        assert decide(n - 1 - dissenting, n - 1) == "open"
    (unanimous,) = re.findall(r"needs (\d+) unanimous", PAGE)
    assert decide(int(unanimous), int(unanimous), "nearly all") == "supported"
    assert decide(int(unanimous) - 1, int(unanimous) - 1, "nearly all") == "open"


def test_the_shares_that_a_count_leaves_possible() -> None:
    told = re.findall(r"(\d+)/(\d+) leaves (\d\.\d\d) to (\d\.\d\d)", PAGE)
    assert len(told) == 3
    for k, n, low, high in told:
        assert [f"{end:.2f}" for end in share_interval(int(k), int(n))] == [low, high]


def test_how_often_it_is_wrong_when_seeds_are_added() -> None:
    (told,) = re.findall(r"supported in (\d\.\d) % of cases and contradicted in (\d\.\d) %", PAGE)
    assert tuple(f"{100 * probability:.1f}" for probability in decided(0.5, 20)[20]) == told


def test_the_price() -> None:
    by = [int(number) for number in re.findall(r"\d+", " ".join(cells("holds in")))]
    assert by == [5, 10, 20, 50]
    shares = [int(share) for share in re.findall(r"^\| (\d+) % \|", PAGE, re.MULTILINE)]
    assert shares == [60, 70, 80, 90, 100]
    for share in shares:
        found = decided(share / 100, max(by))
        assert [f"{100 * found[n][0]:.0f}" for n in by] == cells(f"{share} %")


def test_evidence_defaults_and_numbers_of_fresh_seeds() -> None:
    (six, five), *_ = re.findall(r"five \((\d+) to (\d+)\)", PAGE)
    assert [round(math.exp(log_evidence(n, n, 0.5))) for n in (6, 5)] == [int(six), int(five)]
    assert "Six seeds are the default" in PAGE
    assert StudyConfig().seeds == 6
    assert f"from {BLOCK} for the first entry, from {2 * BLOCK} for the\nsecond" in PAGE
    assert "probability of four fifths" in PAGE
    assert LIKELY == 0.8
