"""The studies of source 003 through the command."""

from __future__ import annotations

import re

from command_line import NO_TORCH, python


def test_the_stored_results_are_judged_without_torch_and_count_for_every_preset(folder):
    first = python(NO_TORCH, "run", "stored-connectivity", "--preset", "smoke", "--store", "store", cwd=folder)
    assert first.code == 0, first.err
    assert re.search(r"^PARTLY +stored-advanced ", first.out, re.MULTILINE)
    assert re.search(r"^NOT REPRODUCED +stored-positions ", first.out, re.MULTILINE)
    ledger = python(NO_TORCH, "claims", "--preset", "quick", "--store", "store", cwd=folder)
    assert re.search(r"^REPRODUCED +stored-hero ", ledger.out, re.M)  # the presets ask for the same, which is kept once
