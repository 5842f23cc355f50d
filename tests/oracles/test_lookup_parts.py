"""The decoder taken apart: which weights a piece has, both forms of GRU, the study's tables and claims."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from rote.cells import cells
from rote.claims import judge
from rote.claims import measure as measured_in
from rote.errors import UsageError
from rote.laboratory.aggregate import joined
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.recipes.job import TRAINING
from rote.store import Table
from rote.studies.realization import parts as measure
from rote.studies.realization.parts import EXCHANGES, LookupPartsStudy
from rote.studies.realization.retraining import PIECES
from rote.studies.realization.surgery import LookupSurgeryStudy
from rote.studies.realization.surgery_training import exchanged


def populations(config: EncoderDecoderConfig) -> dict[str, EncoderDecoder]:
    return {kind: EncoderDecoder(config, 19, 11, [seed]) for kind, seed in (("baseline", 1), ("guided", 2))}


def taken(piece: str, **config: object) -> tuple[set[str], set[str]]:
    """The names of the frozen parameters of a baseline with a piece, all of them the guided model's; and of all."""
    models = populations(EncoderDecoderConfig(hidden=5, embedding=3, **config))
    made = exchanged(models, "baseline", PIECES[piece])
    theirs, own = (dict(models[kind].named_parameters()) for kind in ("guided", "baseline"))
    frozen = {name for name, value in made.named_parameters() if not value.requires_grad}
    for name, value in made.named_parameters():
        assert torch.equal(value, theirs[name] if name in frozen else own[name])
    return frozen, set(own)


@pytest.mark.parametrize("config", [{}, {"full_focus": False}, {"attention": "general"}, {"cell": "gru_before"}])
def test_the_pieces_are_what_they_are_called(config: dict[str, object]) -> None:
    pieces, every = {name: taken(name, **config)[0] for name in PIECES}, taken("readout", **config)[1]
    decoder = {name for name in every if name.startswith("decoder.")}
    assert pieces["attention"] | pieces["decoder without attention"] == decoder
    assert not pieces["attention"] & pieces["decoder without attention"]
    assert pieces["attention"] == {name for name in every if ".attention." in name} != set()
    assert pieces["readout"] == {"decoder.readout.weight", "decoder.readout.bias"}
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    assert pieces["recurrent part"] == {f"decoder.cell.{name}" for name in names}


def test_gru_before_is_the_unit_of_the_source_s_equations() -> None:
    """With z that keeps the old state, 1 - z of the source's."""
    torch.manual_seed(0)
    cell, x, h = cells["gru_before"](3, 4).double(), torch.randn(2, 3).double(), torch.randn(2, 4).double()
    reset, update, candidate = (
        nn.functional.linear(x, w, b) for w, b in zip(cell.weight_ih.split(4), cell.bias_ih.split(4), strict=True)
    )
    to_r, to_z, to_n = cell.weight_hh.split(4)
    b_r, b_z, b_n = cell.bias_hh.split(4)
    r, admits = torch.sigmoid(reset + h @ to_r.T + b_r), 1 - torch.sigmoid(update + h @ to_z.T + b_z)
    new = torch.tanh(candidate + (r * h) @ to_n.T + b_n)
    from rote.cells import Plain

    (found,) = cell.step(Plain(), x @ cell.weight_ih.T, (h,))
    torch.testing.assert_close(found, (1 - admits) * h + admits * new)
    other = cells["gru"](3, 4, weights=dict(cell.named_parameters()))
    assert not torch.allclose(other.step(Plain(), x @ cell.weight_ih.T, (h,))[0], found)


def tables_of(accuracy: Callable[[str, str, str, int], float], used: tuple[str, ...] = ("gru", "gru_before")):
    """The study's tables from accuracies by cell, kind, piece and seed; the originals have those of "original"."""
    found = []
    for cell in used:
        for kind in ("guided", "baseline"):
            for part in EXCHANGES:
                rows = [
                    {"seed": seed, "split": split, "before": accuracy(cell, kind, "original", seed),
                     "accuracy": accuracy(cell, kind, part, seed), "epoch": 1.0}
                    for seed in range(5) for split in measure.SPLITS
                ]  # fmt: skip
                found.append(measure.trial_table(cell, kind, part, rows))
    return {table.name: table for table in measure.all_tables(joined(found))}


def by_attention(cell: str, kind: str, part: str, seed: int) -> float:
    """Guided models compose, and so do baselines with a guided attention."""
    if kind == "baseline":
        return 0.5 if part in ("decoder", "attention") else 0.02
    return {"original": 0.8, "none": 0.85, "decoder": 0.1, "attention": 0.2}.get(part, 0.7) + 0.01 * seed


def outcomes(tables: dict[str, Table]) -> dict[str, str]:
    return {claim.id: judge(claim, measured_in(claim, tables)).outcome for claim in LookupPartsStudy.claims}


def test_each_cell_has_a_table_with_the_published_decoder_beside_it() -> None:
    tables = tables_of(by_attention)
    rows = {(row["model"], row["component"]): row for row in tables["pieces-gru_before"].records()}
    assert len(rows) == 2 * (1 + len(EXCHANGES))
    assert rows["baseline", "decoder"]["published"] == 0.02
    assert rows["baseline", "attention"]["published"] is None
    assert rows["guided", "original"]["accuracy"] == pytest.approx(0.82)
    from rote.figures import spec

    assert len(spec(tables["pieces-gru"])["datasets"]["rows"]) == len(rows)


def test_claims_come_out_either_way() -> None:
    assert set(outcomes(tables_of(by_attention)).values()) == {"supported"}
    lifted = outcomes(
        tables_of(lambda cell, kind, part, seed: 0.02 if (kind, part) == ("baseline", "original") else 0.8)
    )
    assert lifted["lookup-parts-baseline"] == lifted["lookup-parts-decoder"] == "contradicted"
    assert lifted["lookup-parts-attention"] == "contradicted"
    other = outcomes(tables_of(lambda cell, *rest: by_attention(cell, *rest) * (0.5 if cell == "gru_before" else 1)))
    assert other["lookup-gru-form"] == "contradicted"


def test_nothing_to_explain_is_no_test_and_one_form_is_no_comparison() -> None:
    found = outcomes(tables_of(lambda cell, kind, part, seed: 0.02 if kind == "baseline" else 0.8, ("gru",)))
    assert found["lookup-parts-attention"] == "void"
    assert found["lookup-gru-form"] == "not run"


def test_what_lookup_surgery_has_retrained_is_not_retrained_again() -> None:
    def trainings(study: LookupPartsStudy | LookupSurgeryStudy, preset: str) -> set[str]:
        every = [one.request for job in study.jobs(study.resolve(preset, {})) for one in job.all()]
        return {request.id for request in every if request.part == TRAINING}

    for preset in ("quick", "paper"):
        own, shared = (trainings(study(), preset) for study in (LookupPartsStudy, LookupSurgeryStudy))
        both, other_form = 2 * len(PIECES), 2 * (1 + len(EXCHANGES))  # of six seeds, which are one training
        assert len(own - shared) == both + other_form


def test_attention_without_weights_cannot_be_exchanged() -> None:
    with pytest.raises(UsageError, match=r"'model.attention' .* must be mlp or general"):
        LookupPartsStudy().resolve("quick", {"model.attention": "dot"})
