"""The structures of the panel of architectures (source 001, sections 1 and 7): what each can and cannot depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rote.laboratory import studies
from rote.models import CNN, CNNConfig, MLPConfig, StackedMLP, StackedTranslator, TranslatorConfig
from rote.models.halves import make_halves
from rote.models.separate_inputs import make_inputs
from rote.models.structures import HalvesConfig, TranslatorFormConfig
from rote.studies.resistance.architecture_recipes import ScanStructureRecipe
from rote.tasks.scan import ACTION_WORDS
from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS, templates
from rote.training import TrainingConfig

F64 = torch.float64
SIZES = {"depths": (3, 4), "hidden": 5}
TRAINING = TrainingConfig(steps=3, batch=8, dtype="float64")


def halves(structure: str) -> torch.nn.Module:
    return make_halves((8, 16), 10, HalvesConfig(**SIZES, structure=structure), seed=1, dtype=F64)


def images(count: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(torch.rand(3, count, 8, 8, dtype=F64, generator=torch.Generator().manual_seed(0)))


def both(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.cat([left, right], 2)


def test_only_the_separated_halves_do_not_see_the_right_image() -> None:
    left, right, other = images()
    for structure in ("joint", "shared", "summed", "attention"):
        model = halves(structure)
        assert not torch.allclose(model(both(left, right)), model(both(left, other))), structure
    separated = halves("separated")
    assert torch.equal(separated(both(left, right)), separated(both(left, other)))
    assert not torch.allclose(separated(both(left, right)), separated(both(other, right)))


def test_what_summed_halves_say_of_one_image_does_not_depend_on_the_other() -> None:
    left, right, other = images()
    summed, shared = halves("summed"), halves("attention")
    for model, additive in ((summed, True), (shared, False)):
        change = model(both(left, right)) - model(both(left, other))
        again = model(both(other, right)) - model(both(other, other))
        assert torch.allclose(change, again) is additive


def test_shared_halves_read_either_image_with_the_same_network() -> None:
    left, right, _ = images()
    model = halves("shared")
    features = [model.network.features(half) for half in (left, right)]
    by_hand = torch.cat(features, 1) @ model.network.output.weight.T + model.network.output.bias
    torch.testing.assert_close(model(both(left, right)), by_hand)


@torch.no_grad()
def test_attention_between_halves_is_a_weighted_mean() -> None:
    left, right, _ = images(1)
    model = halves("attention")
    model.place.copy_(torch.randn(2, 5, dtype=F64))
    one, other = (
        model.network.features(half)[0] + place for half, place in zip((left, right), model.place, strict=True)
    )
    scores = [float(model.score.weight[0] @ vector) for vector in (one, other)]
    share = 1 / (1 + np.exp(scores[1] - scores[0]))
    torch.testing.assert_close(model(both(left, right))[0], model.network.output(share * one + (1 - share) * other))


def test_the_joint_structure_is_the_published_network() -> None:
    left, right, _ = images()
    plain = CNN((8, 16), 10, CNNConfig(**SIZES), 1, F64)
    assert torch.equal(halves("joint")(both(left, right)), plain(both(left, right)))


def test_separate_inputs_are_joined_as_their_structure_says() -> None:
    config, seeds = MLPConfig(4, 2), (3, 4)
    joint, summed, separated = (make_inputs(kind, 2, config, seeds, F64) for kind in ("joint", "summed", "separated"))
    points = torch.rand(2, 6, 2, dtype=F64)
    moved = points + torch.tensor([0.0, 0.5], dtype=F64)
    assert torch.equal(joint(points), StackedMLP(2, 2, config, seeds, F64)(points))
    assert torch.equal(separated(points), separated(moved))
    alone = StackedMLP(1, 2, config, seeds, F64)(points[..., :1])
    assert torch.equal(separated(points), alone)
    torch.testing.assert_close(summed(points) - alone, summed.second(points[..., 1:]))


def scan_program(**options: object):
    model = TranslatorFormConfig(embedding=5, hidden=3, **options)
    program = ScanStructureRecipe(model=model, training=TRAINING, sample=20).program((0, 1), "cpu")
    drawn = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in program.model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=drawn, dtype=F64))
    return program


def test_bilinear_attention_is_that_of_the_published_translator() -> None:
    program = scan_program()
    plain = StackedTranslator(
        TranslatorConfig(embedding=5, hidden=3), len(COMMAND_WORDS), len(ACTIONS) + 1, (0, 1), F64
    )
    plain.load_state_dict(program.model.state_dict())
    pairs = program.pairs(program.train)
    torch.testing.assert_close(program.model(pairs), plain(pairs))


def test_additive_attention_is_bahdanaus() -> None:
    model = scan_program(attention="additive").model
    asked, known = torch.randn(2, 3, 4, 6, dtype=F64), torch.randn(2, 3, 5, 6, dtype=F64)
    scores = model._scores(asked, known)
    by_hand = model.scored[1, :, 0] @ torch.tanh(asked[1, 2, 3] + known[1, 2, 4])
    torch.testing.assert_close(scores[1, 2, 3, 4], by_hand)
    assert scores.shape == (2, 3, 4, 5)


def probabilities(program, commands: np.ndarray) -> torch.Tensor:
    """Of every symbol at every place that has a target, rows as given: [replica, row, step, symbol]."""
    pairs = program.pairs(np.tile(commands, (2, 1)))
    logits = program.model(pairs).softmax(1)
    rows = [part for symbol in logits.unbind(1) for part in [pairs.by_row(symbol)]]
    by_symbol = [torch.cat([part[..., :2] for part in parts], 1) for parts in rows]
    return pairs.in_order(torch.stack(by_symbol, -1))


@pytest.mark.parametrize("separated", [True, False])
def test_separated_syntax_is_the_same_whatever_the_action_word(separated: bool) -> None:
    known = templates()
    template = known.names.index("_ left twice")
    commands = known.commands[template][np.arange(4), np.arange(4)]  # walk, look, run, jump
    found = probabilities(scan_program(separated=separated), commands)
    turns, acts = found[..., len(ACTION_WORDS) :], found[..., : len(ACTION_WORDS)].sum(-1)
    same = torch.allclose(turns, turns[:, :1].expand_as(turns)) and torch.allclose(acts, acts[:, :1].expand_as(acts))
    assert same is separated
    assert not torch.allclose(found[:, 0, :, :4], found[:, 1, :, :4])


def test_without_attention_the_keys_do_not_matter_after_the_decoders_start() -> None:
    model = scan_program(attention="none").model
    pairs = scan_program().pairs(np.zeros((2, 1), dtype=np.int64))
    queries, keys = torch.randn(2, 3, 6, dtype=F64), torch.randn(2, 1, 16, 6, dtype=F64)
    assert not model._attended(queries, keys, keys, pairs).any()


def test_a_form_is_not_decoded_as_if_it_were_the_published_one() -> None:
    program = scan_program()
    with pytest.raises(NotImplementedError, match="right answers"):
        program.model.decode(program.pairs(np.zeros((2, 1), dtype=np.int64)), 6, 5)


def test_no_two_structures_of_the_full_panel_have_one_name() -> None:
    """Their networks would count as one structure's, each seed twice."""
    config = studies["architecture"]().resolve("paper", {"data": "stand-in"})
    for recipes in (config.plane_recipes(), config.digits_recipes(), config.scan_recipes()):
        labels = [recipe.label for recipe in recipes]
        assert len(set(labels)) == len(labels)
        assert any("separated" in label for label in labels)
    judged = {claim.id: len(claim.assertions) for claim in studies["architecture"].claims}
    assert judged == {"architecture-plane": 12, "architecture-digits": 5, "architecture-scan": 3}
