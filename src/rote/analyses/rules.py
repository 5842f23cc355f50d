"""The rules of a decomposition by name, with single ones changed; what each does is in ``splitting``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rote.analyses.splitting import PRESETS, Bias, Gates, Interactions, Linearization, Rules
from rote.config import one_of
from rote.errors import UsageError


def rules_of(
    rules: str = "shapley",
    bias: Bias | None = None,
    interactions: Interactions | None = None,
    linearization: Linearization | None = None,
    output_gate: bool | None = None,
    gates: Gates | None = None,
) -> Rules:
    """A published or our own set of rules, with single ones changed."""
    one_of("rules", rules, tuple(PRESETS))
    changes: dict[str, Any] = {}
    for name, value, known in (
        ("bias", bias, ("reference", "in_span", "exclusive_end", "never")),
        ("interactions", interactions, ("shapley", "source", "relevant")),
        ("linearization", linearization, ("bias_first", "shapley")),
        ("gates", gates, ("parts", "whole")),
    ):
        if value is not None:
            changes[name] = one_of(name, value, known)
    if output_gate is not None:
        changes["output_gate"] = bool(output_gate)
    if gates == "whole":
        if output_gate:
            raise UsageError("gates='whole' uses every gate as it is. Got output_gate=True: leave it out.")
        changes["output_gate"] = False
    made = replace(PRESETS[rules], **changes)
    if made.reference and (made.linearization != "bias_first" or made.output_gate == (made.gates == "whole")):
        raise UsageError(
            "bias='reference' takes the run on inputs of zero apart, which needs linearization='bias_first' and "
            f"output_gate=True. Got linearization={made.linearization!r}, output_gate={made.output_gate}. Choose "
            "another 'bias', such as 'in_span', or rules='murdoch2018' or 'gcd2019'."
        )
    return made


def shown(rules: Rules) -> str:
    """Every rule, as it is written in a call."""
    return (
        f"bias={rules.bias!r}, interactions={rules.interactions!r}, linearization={rules.linearization!r}, "
        f"output_gate={rules.output_gate}" + (", gates='whole'" if rules.gates == "whole" else "")
    )
