"""rote share: what it refuses, in one line and before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.cli import main
from rote.commands.sharing import state_of


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["home"], "leads to the others. Name one of them: connectivity,"),
        (["recurrent", "units=900"], "units=900 cannot be used: Input should be less than or equal to 64"),
        (["recurrent", "step=soon"], "step is a whole number, as step=3. Got 'soon'"),
        (["chalk", "example=cube"], "Unknown example 'cube'"),
        (["conectivity"], "Did you mean 'connectivity'?"),
        (["ledger", "colour=red"], "Unknown option 'colour' of the view ledger"),
        (["ledger", "contradicted"], "key=value"),
        (["ledger", "--out", "."], "is a folder"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["share", *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_its_view_and_its_settings() -> None:
    link = "http://127.0.0.1:8765/?token=x#/ledger?q=gru+a&kind=ours"
    assert state_of(link) == ("ledger", {"q": "gru a", "kind": "ours"})
    assert state_of("ledger") == ("ledger", {})
