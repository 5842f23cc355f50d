"""What source 002 says of lookup models inside, read as its text has it (sections 3.2 and 4.1), as claims."""

from __future__ import annotations

from rote.claims import (
    Assertion,
    Claim,
    Group,
    PerSeed,
    Published,
    above,
    all_of,
    any_of,
    at_least,
    below,
    column,
    inside,
)
from rote.claims.claim import Role
from rote.studies.realization import published
from rote.studies.realization.models import KINDS

GATES = ("decoder update gate", "decoder reset gate")
PARTS = ("encoder", "decoder")


def _of(table: str, value: str, model: str, **labels: str) -> PerSeed:
    """A column of the models with the source's cell."""
    return column(table, value, cell="gru", model=model, **labels)


def _probed(value: str, model: str, source: str, label: str = "table", ranking: str = "corrected") -> PerSeed:
    return _of("probes", value, model, input=source, label=label, penalty="none", ranking=ranking)


def _fewer(label: str, ranking: str = "corrected", role: Role = "part") -> Assertion:
    """The baseline needs more units of the encoder's state than the guided model."""
    baseline, guided = (_probed("units", model, "encoder state", label, ranking) for model in KINDS)
    ranked = "" if ranking == "corrected" else ", ranked as published"
    told = f"Units for the {label}, baseline over guided{ranked}"
    return Assertion(told, baseline.log_ratio(guided), above(0), role=role, scale="log")


def _numbers(source: str, label: str) -> tuple[Published, ...]:
    """A row of Tables 2 and 3: means of five models, without their spread."""
    columns = {"group_accuracy": "accuracy of the group", "accuracy": "accuracy of all units", "units": "units"}
    return tuple(
        Published(f"{source}, {label}: {told}, {model}", _probed(value, model, source, label), mean=mean, m=5)
        for model in KINDS
        for (value, told), mean in zip(columns.items(), published.DIAGNOSIS[source, label, model], strict=True)
    )


def _shapley(value: str, model: str, penalty: str = "none") -> PerSeed:
    return _of("shapley", value, model, penalty=penalty)


def _footnote(model: str) -> tuple[Assertion, ...]:
    """What footnote 5 says of groups by Shapley values, of one kind of models."""
    more = _shapley("units_shapley", model).log_ratio(_shapley("units_weights", model))
    alike = _shapley("alike_shapley", model) - _shapley("alike_weights", model)
    return (
        Assertion(f"Share of the group by weights that is confirmed, {model}", _shapley("confirmed", model), above(0.5),
                  scale="unit"),
        Assertion(f"Units by Shapley values over units by weights, {model}", more, above(0), scale="log"),
        Assertion(f"Likeness of groups, Shapley values minus weights, {model}", alike, below(0)),
        Assertion(f"Share that is confirmed, with the penalty of the code, {model}", _shapley("confirmed", model, "L2"),
                  above(0.5), role="report", scale="unit"),
    )  # fmt: skip


def _more_polar(value: str, told: str) -> Group:
    """One reading of polar: both matrices of Figure 2 must show it."""
    members = []
    for matrix in ("encoder W_hz", "decoder W_iz"):
        baseline, guided = (_of("connected", value, model, matrix=matrix) for model in KINDS)
        label = f"Polarity {told} of strongly connected neurons, {matrix}: guided minus baseline"
        members.append(Assertion(label, guided - baseline, above(0)))
    return all_of(*members)


CLAIMS = (
    Claim(
        "lookup-plain-groups", "realization", "Section 4.1, footnote 4, Tables 2 and 3",
        "Without any regularization, a linear classifier needs fewer units of a guided encoder's state than of a "
        "baseline's to tell the current table and the time step.",
        "“we do not use any regularization on the DC to contrast the different degrees to which information is "
        "distributed across neurons in the two model types”",
        (
            *(_fewer(label) for label in ("table", "time step")),
            *(_fewer(label, "as_published", "rival") for label in ("table", "time step")),
        ),
        numbers=(*_numbers("encoder state", "table"), *_numbers("encoder state", "time step")),
        remark="lookup-group-state and lookup-group-step say the same with the penalty of the authors' code.",
    ),
    Claim(
        "lookup-plain-gates", "realization", "Section 4.1, footnote 4, Table 2",
        "Without any regularization, a linear classifier reads the current table from the gates of a guided decoder "
        "without error, and from those of a baseline's in about half of the cases.",
        "“we are able to perfectly predict the current table in the guided models. With the baseline model, an "
        "accuracy of only around 50 % is reached”",
        tuple(
            Assertion(f"Accuracy of all units, {source}, {model}", _probed("accuracy", model, source), region,
                      scale="unit")
            for source in GATES for model, region in (("guided", at_least(0.995)), ("baseline", inside(0.4, 0.6)))
        ),
        numbers=tuple(number for source in GATES for number in _numbers(source, "table")),
        remark="Regions as in lookup-group-update and lookup-group-reset, which have the penalty of the authors' code.",
    ),
    Claim(
        "lookup-shapley", "realization", "Section 4.1, footnote 5",
        "Shapley values confirm the units of the functional groups, but select more units and give less consistent "
        "groups.",
        "“seems to confirm the responsible neurons we found, but selects more neurons and gives less consistent "
        "results”",
        tuple(item for model in KINDS for item in _footnote(model)),
        remark="Confirm: more than half of a group by weights is in that by Shapley values. Consistent: as alike as "
        "the groups of several divisions of the samples are. Of which models it is said is not told: of both.",
    ),
    Claim(
        "lookup-polar-connected", "realization", "Section 3.2, Figure 2",
        "The strongly connected neurons of guided models are more polar than those of baselines: their weights are on "
        "average positive or negative.",
        "“the AG model exhibits a few distinct, strongly polar neurons - neurons whose weights are on average negative "
        "or positive”; “fewer but more strongly connected neurons”",
        (any_of(_more_polar("polarity", "in all weights"), _more_polar("polarity_strong", "in strong weights")),),
        remark="lookup-polar-neurons takes the most polar of all neurons. On average over all weights or over those "
        "that the figure shows is not said: one of the readings is enough.",
    ),
    Claim(
        "lookup-opposite-connected", "realization", "Section 3.2",
        "In both models, most strongly connected neurons have mean weights of opposite signs in the update and in the "
        "reset gate.",
        "“The polarity of the neurons that are on average strongly positive or negative are inversely related”",
        tuple(
            Assertion(f"Opposite signs among strongly connected neurons, {model} {part}",
                      _of("opposite", "opposite", model, part=part), above(0.5))
            for model in KINDS for part in PARTS
        ),
        remark="lookup-opposite-gates takes the neurons with the largest mean weights.",
    ),
)  # fmt: skip
