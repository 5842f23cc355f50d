"""Exchanged parts and cut neurons of lookup models: what stays frozen or zero, against other ways of computing it."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from plain_encoder_decoder import PlainEncoderDecoder, copy_replica
from torch import Tensor, nn

from rote.analyses.surgery import prune
from rote.config import to_plain
from rote.errors import UsageError
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.recipes import Trained
from rote.store import Request, Store
from rote.studies.realization import surgery_training as training
from rote.studies.realization.models import LookupRecipe
from rote.studies.realization.retraining import COMPONENTS, EXCHANGED, ExchangeRecipe, RetrainedRecipe
from rote.studies.realization.surgery_tables import SPLITS
from rote.studies.realization.training import LookupData
from rote.training import TrainingConfig, train

SEEDS = (0, 1, 2)
ADAM = TrainingConfig(
    steps=6, batch=29, optimizer="adam", learning_rate=0.01, clip=0.5, record_every=3, select="last", dtype="float64"
)
SGD = replace(ADAM, optimizer="sgd", steps=1, clip=1e-3, learning_rate=1.0)
MODELS = LookupRecipe(model=EncoderDecoderConfig(hidden=8, embedding=3, limit=0.5), training=ADAM)
RECIPE = ExchangeRecipe(MODELS, ADAM)  # of which these tests use the training alone, and change models themselves
TASK = MODELS.task


def populations(models: LookupRecipe = MODELS) -> dict[str, EncoderDecoder]:
    """Untrained, and all different."""
    inputs, outputs = map(len, TASK.vocabulary())
    return {
        kind: EncoderDecoder(models.model, inputs, outputs, [first + seed for seed in SEEDS], torch.float64)
        for kind, first in (("baseline", 10), ("guided", 20))
    }


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def retrained(model: EncoderDecoder, recipe: RetrainedRecipe, folder: Path) -> list[dict[str, Any]]:
    """Train the model, and tell what the measurement tells of it."""
    as_it_was = training.make_retraining(recipe, copy.deepcopy(model), SEEDS, "cpu")
    with Store(folder).open(Request("oracle", 1, "p", {}, SEEDS)) as run:
        train(training.make_retraining(recipe, model, SEEDS, "cpu"), recipe.training, run)
        ended: Any = SimpleNamespace(
            weights=model.state_dict, seeds=SEEDS, run=SimpleNamespace(metrics=run.metrics.rows)
        )
        return training.before_and_after(as_it_was, ended, SPLITS)


def length_of_change(before: dict[str, Tensor], after: dict[str, Tensor]) -> Tensor:
    """Of each replica's parameters, all taken together."""
    return torch.stack([(after[name] - before[name]).flatten(1).square().sum(1) for name in before]).sum(0).sqrt()


class TestExchange:
    @pytest.mark.parametrize("kind", ["baseline", "guided"])
    @pytest.mark.parametrize("component", EXCHANGED)
    def test_a_component_is_that_of_the_other_kind_and_the_rest_is_not(self, kind: str, component: str) -> None:
        models = populations()
        (other,) = {"baseline", "guided"} - {kind}
        was = {name: weights(model) for name, model in models.items()}
        made = weights(training.exchanged(models, kind, COMPONENTS[component]))
        taken = {name for name in made if torch.equal(made[name], was[other][name])}
        part, _, piece = component.partition(" ")
        piece = {"W_ih": "cell.weight_ih", "W_hh": "cell.weight_hh", "embedding": "embedding.weight"}.get(piece, piece)
        assert taken == {name for name in made if name.startswith(f"{part}.{piece}")} != set()
        assert all(torch.equal(made[name], was[kind][name]) for name in made.keys() - taken)
        assert all(torch.equal(value, was[kind][name]) for name, value in models[kind].named_parameters())

    def test_the_decoder_has_attention_focus_and_readout(self) -> None:
        made = training.exchanged(populations(), "guided", COMPONENTS["decoder"])
        frozen = {name for name, value in made.named_parameters() if not value.requires_grad}
        for piece in ("attention.of_key.weight", "attention.score.bias", "focus.weight", "focus_other.bias", "readout"):
            assert any(name.startswith(f"decoder.{piece}") for name in frozen)

    @pytest.mark.parametrize("component", EXCHANGED)
    def test_a_frozen_part_keeps_its_bits_through_adam_and_clipping_and_the_rest_learns(
        self, component: str, tmp_path: Path
    ) -> None:
        model = training.exchanged(populations(), "guided", COMPONENTS[component])
        before = weights(model)
        retrained(model, RECIPE, tmp_path)
        for name, after in weights(model).items():
            frozen = any(name.startswith(part) for part in COMPONENTS[component])
            changed = (after != before[name]).flatten(1).any(1)
            assert changed.tolist() == [not frozen] * len(SEEDS), name

    @pytest.mark.parametrize("component", ["encoder", "decoder", "decoder W_ih"])
    def test_clipping_measures_the_free_part_alone(self, component: str, tmp_path: Path) -> None:
        """A step of gradient descent with a tiny limit is as long as the limit, if nothing frozen counts."""
        model = training.exchanged(populations(), "guided", COMPONENTS[component])
        before = weights(model)
        retrained(model, replace(RECIPE, training=SGD), tmp_path)
        moved = length_of_change(before, weights(model))
        torch.testing.assert_close(moved, torch.full_like(moved, SGD.clip or 0.0), rtol=2e-3, atol=0)

    def test_a_free_part_learns_what_it_learns_in_plain_pytorch_with_the_rest_frozen(self, tmp_path: Path) -> None:
        recipe = replace(RECIPE, training=replace(ADAM, steps=3, record_every=3))
        model = training.exchanged(populations(), "guided", COMPONENTS["encoder"])
        expected = [self._plainly(model, replica, recipe) for replica in range(len(SEEDS))]
        retrained(model, recipe, tmp_path)
        for replica, plain in enumerate(expected):
            again = PlainEncoderDecoder(*map(len, TASK.vocabulary()), hidden=8, embedding=3).double()
            copy_replica(model, replica, again)
            for name, value in again.named_parameters():
                torch.testing.assert_close(value, plain[name], rtol=1e-7, atol=1e-9)

    def _plainly(self, model: EncoderDecoder, replica: int, recipe: RetrainedRecipe) -> dict[str, Tensor]:
        from plain_encoder_decoder import plain_loss

        data = LookupData(TASK.splits(), TASK.vocabulary(), "cpu")
        orders = [training.ORDER_SEED + seed for seed in SEEDS]
        batches = training.Retraining(model, data, recipe.training, orders, 1.0, False)
        plain = PlainEncoderDecoder(*map(len, TASK.vocabulary()), hidden=8, embedding=3).double()
        copy_replica(model, replica, plain)
        for name, value in plain.named_parameters():
            value.requires_grad_(not name.startswith("encoder"))
        free = [value for value in plain.parameters() if value.requires_grad]
        optimizer = torch.optim.Adam(free, recipe.training.learning_rate)
        for step in range(recipe.training.steps):
            batch = data.rows("train", batches._chosen(step)[replica : replica + 1])
            lengths = batch.mask[0].sum(-1)
            logits, attention = plain(batch.tokens[0], lengths, batch.targets[0], data.start)
            optimizer.zero_grad()
            plain_loss(logits, attention, batch.targets[0], batch.attention[0], 1.0).backward()
            nn.utils.clip_grad_norm_(free, recipe.training.clip or 0.0)
            optimizer.step()
        return weights(plain)


class TestPruning:
    @pytest.mark.parametrize("by", ["edges", "mean", "max"])
    def test_the_kept_neurons_are_those_that_prune_keeps(self, by: Any) -> None:
        model = populations()["guided"]
        kept = training.kept_neurons(model, 0.25, by, 0.05, SEEDS)
        for replica in range(len(SEEDS)):
            both = {"encoder": model.encoder_of(replica), "decoder": model.decoder_of(replica)}
            for part, module in both.items():
                cell = prune(module, 0.25, by=by, strongest=0.05).recurrent.cells[0]
                assert torch.equal(kept[part][replica] == 1, cell.weight_hh.view(3, 8, 8).abs().sum((0, 2)) > 0)

    def test_random_neurons_are_as_many_other_ones_and_the_same_each_time(self) -> None:
        model = populations()["guided"]
        first, again = (training.kept_neurons(model, 0.25, "random", 0.01, SEEDS) for _ in range(2))
        for part in ("encoder", "decoder"):
            assert torch.equal(first[part], again[part])
            assert first[part].sum(1).tolist() == [2.0] * len(SEEDS)
        assert len({tuple(row.tolist()) for mask in first.values() for row in mask}) > 3
        assert all(mask.all() for mask in training.kept_neurons(model, 0.25, "none", 0.01, SEEDS).values())

    def test_the_published_share_keeps_26_of_512_neurons(self) -> None:
        config = EncoderDecoderConfig()
        kept = training.kept_neurons(EncoderDecoder(config, 19, 11, [0]), 0.05, "mean", 0.01, [0])
        assert {part: int(mask.sum()) for part, mask in kept.items()} == {"encoder": 26, "decoder": 26}

    @pytest.mark.parametrize("cell", ["gru", "lstm"])
    def test_cut_neurons_stay_silent_and_zero_through_retraining(self, cell: str, tmp_path: Path) -> None:
        models = replace(MODELS, model=replace(MODELS.model, cell=cell))
        model, recipe = populations(models)["guided"], replace(RECIPE, models=models)
        kept = training.kept_neurons(model, 0.25, "edges", 0.05, SEEDS)
        training.cut(model, kept)
        before = weights(model)
        for moment in ("cut", "retrained"):
            if moment == "retrained":
                retrained(model, recipe, tmp_path)
                assert any((weights(model)[name] != before[name]).any() for name in before)
            for part, mask in kept.items():
                for name, weight in model.get_submodule(f"{part}.cell").named_parameters():
                    gates = weight.detach().view(len(SEEDS), -1, 8, *weight.shape[2:]).transpose(0, 1)
                    assert all((gate[mask == 0] == 0).all() for gate in gates), (moment, part, name)
                    if name == "weight_hh":
                        assert (weight.detach().transpose(1, 2)[mask == 0] == 0).all(), (moment, part)
            encoded, states = _states(model)
            assert (encoded.permute(0, 3, 1, 2)[kept["encoder"] == 0] == 0).all()
            assert (states.permute(0, 3, 1, 2)[kept["decoder"] == 0] == 0).all()
            assert (states.permute(0, 3, 1, 2)[kept["decoder"] == 1] != 0).any()

    def test_a_pruned_model_is_one_whose_other_neurons_are_set_to_zero_after_every_step(self) -> None:
        model = populations()["guided"]
        whole = model.select(range(len(SEEDS)))
        kept = training.kept_neurons(model, 0.25, "edges", 0.05, SEEDS)
        training.cut(model, kept)
        data = LookupData(TASK.splits(), TASK.vocabulary(), "cpu")
        batch = data.rows("new_compositions", torch.arange(6).expand(len(SEEDS), -1))
        found = model(batch.tokens, batch.mask, batch.targets, data.start)
        for replica in range(len(SEEDS)):
            logits = _silenced(
                whole, replica, {part: mask[replica].double() for part, mask in kept.items()}, batch, data
            )
            torch.testing.assert_close(found.logits[replica], logits, rtol=1e-9, atol=1e-12)

    def test_clipping_measures_what_is_left_alone(self, tmp_path: Path) -> None:
        model = populations()["guided"]
        training.cut(model, training.kept_neurons(model, 0.25, "edges", 0.05, SEEDS))
        before = weights(model)
        retrained(model, replace(RECIPE, training=SGD), tmp_path)
        moved = length_of_change(before, weights(model))
        torch.testing.assert_close(moved, torch.full_like(moved, SGD.clip or 0.0), rtol=2e-3, atol=0)


def _states(model: EncoderDecoder) -> tuple[Tensor, Tensor]:
    """Encoder states and decoder states of some rows, the latter by running the decoder's cell on its own inputs."""
    from rote.cells import run_stacked

    data = LookupData(TASK.splits(), TASK.vocabulary(), "cpu")
    batch = data.rows("heldout_tables", torch.arange(5).expand(len(SEEDS), -1))
    with torch.no_grad():
        decoded = model(batch.tokens, batch.mask, batch.targets, data.start)
        states, _ = run_stacked(model.decoder.cell, decoded.inputs, decoded.start)
    return decoded.encoded, states


def _silenced(
    model: EncoderDecoder, replica: int, kept: dict[str, Tensor], batch: Any, data: LookupData
) -> Tensor:  # fmt: skip
    """Plain PyTorch with the uncut weights, whose states are multiplied with the masks after every step."""
    plain = PlainEncoderDecoder(*map(len, TASK.vocabulary()), hidden=8, embedding=3).double()
    copy_replica(model, replica, plain)
    tokens, targets = batch.tokens[replica], batch.targets[replica]
    with torch.no_grad():
        embedded, state, encoded = plain.encoder_embedding(tokens), torch.zeros(1, len(tokens), 8).double(), []
        for time in range(tokens.shape[1]):
            _, state = plain.encoder(embedded[:, time : time + 1], state)
            state = state * kept["encoder"]
            encoded.append(state[0])
        memory, state = torch.stack(encoded, 1), state * kept["decoder"]
        fed, logits = torch.full_like(targets[:, 0], data.start), []
        for _ in range(targets.shape[1]):
            both = torch.cat([memory, state[0][:, None].expand_as(memory)], -1)
            share = plain.score(torch.relu(plain.attention(both)))[..., 0].softmax(-1)
            context = (share[:, None] @ memory)[:, 0]
            merged = torch.relu(plain.focus(torch.cat([context, plain.decoder_embedding(fed)], -1)))
            _, state = plain.decoder((context * merged)[:, None], state)
            state = state * kept["decoder"]
            logits.append(plain.readout(state[0]))
            fed = logits[-1].argmax(-1)
    return torch.stack(logits, 1)


class TestRetraining:
    def test_a_run_that_is_stopped_goes_on_to_the_same_bits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Hooks and frozen parts are made anew; nothing of them is in a checkpoint."""
        monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
        recipe = replace(RECIPE, training=replace(ADAM, select="best", record_every=1))

        def made() -> EncoderDecoder:
            models = populations()
            model = training.exchanged(models, "guided", COMPONENTS["decoder embedding"])
            training.cut(model, training.kept_neurons(model, 0.5, "edges", 0.05, SEEDS))
            return model

        whole, stopped, resumed = made(), made(), made()
        expected = retrained(whole, recipe, tmp_path / "whole")
        losses = training.Retraining.losses

        def failing(self: Any, step: int) -> Tensor:
            if step == 4:
                raise KeyboardInterrupt
            return losses(self, step)

        monkeypatch.setattr(training.Retraining, "losses", failing)
        with pytest.raises(KeyboardInterrupt):
            retrained(stopped, recipe, tmp_path / "stopped")
        monkeypatch.setattr(training.Retraining, "losses", losses)
        assert retrained(resumed, recipe, tmp_path / "stopped") == expected
        assert all(torch.equal(value, weights(resumed)[name]) for name, value in whole.named_parameters())

    def test_accuracies_are_those_before_and_after_and_the_epoch_is_that_of_the_lowest_loss(
        self, tmp_path: Path
    ) -> None:
        recipe = replace(RECIPE, training=replace(ADAM, select="best", steps=40, record_every=4, learning_rate=0.05))
        model = populations()["guided"]
        data = LookupData(TASK.splits(), TASK.vocabulary(), "cpu")
        program = training.Retraining(model, data, recipe.training, SEEDS, 1.0, False)
        before = {split: program.accuracy(split) for split in SPLITS}
        rows = retrained(model, recipe, tmp_path)
        after = {split: program.accuracy(split) for split in SPLITS}
        with Store(tmp_path).open(Request("oracle", 1, "p", {}, SEEDS)) as run:
            recorded = run.metrics.rows()
        for row in rows:
            index = SEEDS.index(row["seed"])
            assert row["before"] == before[row["split"]][index]
            assert row["accuracy"] == after[row["split"]][index]
            best = min(recorded, key=lambda entry: entry["validation_loss"][index])
            assert row["epoch"] == best["step"] / 8  # 232 rows in batches of 29

    def test_what_is_measured_at_the_end_is_what_the_weights_would_have_told_and_they_do_not_stay(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recipe = replace(RECIPE, training=replace(ADAM, select="best", steps=12, record_every=4, learning_rate=0.05))
        expected = retrained(populations()["guided"], recipe, tmp_path / "weights")
        monkeypatch.setattr(
            ExchangeRecipe, "program",
            lambda self, trained, device: training.make_retraining(self, populations()["guided"], SEEDS, device),
        )  # fmt: skip
        request = Request(recipe.name, 1, "training", to_plain(recipe), SEEDS)
        for _ in range(2):  # as when it was stopped just before its end: the second time nothing is trained
            with Store(tmp_path / "none").open(request) as run:
                recipe.fit([], run, lambda done, total: None, "cpu")
            monkeypatch.setattr(training.Retraining, "losses", None)
        with Store(tmp_path / "none").open(request) as run:
            run.finish([])
        trained = Trained(Store(tmp_path / "none").finished(request))
        assert training.before_and_after(recipe.program([], "cpu"), trained, SPLITS) == expected
        with pytest.raises(
            UsageError, match=r"keeps no weights\. Its models are those of lookup-accuracy with a change"
        ):
            trained.weights()
        assert sum(file.stat().st_size for file in trained.run.folder.iterdir()) < 20_000
