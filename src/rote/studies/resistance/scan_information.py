"""What SCAN models take from the action word and from the syntax of a command: source 001, section 4, on section 5.2.

The components of a command are its syntax, the template with places for action words, and its action word, the same in
all places; some templates are combined with all four words. Those of an answer are its syntax, the actions with action
words not told apart, and which action words it has. A model that composes takes the one from the one and the other from
the other. Answers are what a model says by itself, so the information is that of hard labels; for the chosen templates
it is exact. Gradients are those of the log probability of the right answer by the words' vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.analyses import information
from rote.models.packed_pairs import NO_TARGET, arrange
from rote.studies.resistance.scan_training import ScanProgram
from rote.tasks.scan import ACTION_WORDS
from rote.tasks.scan_examples import END, JUMP, Numbers, encoded, templates

if TYPE_CHECKING:
    from jaxtyping import Int

LONGEST = 50  # actions of an answer; the longest right one has 48
OTHERS = tuple(word for word in range(len(ACTION_WORDS)) if word != JUMP)
MEASURES = {
    "syntax_word": "I(syntax of the answer; action word | syntax of the command), bits",
    "syntax_syntax": "I(syntax of the answer; syntax of the command | action word), bits",
    "word_syntax": "I(action words of the answer; syntax of the command | action word), bits",
    "word_word": "I(action words of the answer; action word | syntax of the command), bits",
    "syntax_word_others": "I(syntax of the answer; action word | syntax of the command) without 'jump', bits",
    "gradient_word": "mean norm of the gradient by the vectors of action words",
    "gradient_syntax": "mean norm of the gradient by the vectors of the other words",
}


def measure_information(program: ScanProgram, probes: int) -> dict[str, list[float]]:
    """Each measure of every replica, on ``probes`` command templates that have an action word."""
    known = templates()
    with_word = np.flatnonzero([name.split().count("_") > 0 for name in known.names])
    chosen = np.random.default_rng(0).permutation(with_word)[:probes]
    commands = known.commands[chosen][:, np.arange(4), np.arange(4)]  # [template, word]
    rows = np.tile(commands.reshape(1, -1), (program.replicas, 1))
    pairs = program.pairs(rows)
    said = pairs.in_order(program.model.decode(pairs, END, LONGEST)).cpu()
    told = [_told(answers.view(*commands.shape, -1)) for answers in said]
    return {name: [found[name] for found in told] for name in told[0]} | _gradients(program, rows)


def _told(said: Int[Tensor, "template word step"]) -> dict[str, float]:
    syntax = said.masked_fill(said < len(ACTION_WORDS), 0)
    present = torch.stack([(said == word).any(-1) for word in range(len(ACTION_WORDS))], -1)
    of_syntax, of_words, others = _crossed(syntax), _crossed(present.long()), _crossed(syntax[:, OTHERS])
    return {
        "syntax_word": of_syntax[1],
        "syntax_syntax": of_syntax[0],
        "word_syntax": of_words[0],
        "word_word": of_words[1],
        "syntax_word_others": others[1],
    }


def _crossed(answers: Int[Tensor, "template word step"]) -> list[float]:
    """What syntax and action word each tell about the answer beyond the other."""
    labels = answers.flatten(0, 1).unique(dim=0, return_inverse=True)[1].view(answers.shape[:2])
    components = [torch.arange(size) for size in labels.shape]
    return information(components, lambda syntax, word: labels[syntax, word]).given.tolist()


def _gradients(program: ScanProgram, rows: Numbers) -> dict[str, list[float]]:
    """By the vector at each position of a command: every position is a symbol of its own."""
    known = encoded()
    tokens = known.inputs[rows]
    own = np.tile(np.arange(tokens[0].size).reshape(1, *tokens[0].shape), (len(rows), 1, 1))
    lengths = known.input_lengths[rows], known.output_lengths[rows]
    pairs = arrange(own, lengths[0], known.outputs[rows], lengths[1], END).to(program.device)
    at = torch.from_numpy(tokens[0].ravel()).to(program.device)
    words = program.model.words.detach()[:, at].requires_grad_()
    with torch.enable_grad():
        logits = program.model(pairs, words)
        loss = cross_entropy(logits, pairs.targets, reduction="sum", ignore_index=NO_TARGET)
        (found,) = torch.autograd.grad(loss, words)
    squares = found.square().sum(-1).view(tokens.shape).cpu()
    is_word = torch.from_numpy(tokens < len(ACTION_WORDS))  # padding too, by which there is no gradient
    return {
        name: (squares * mask).sum(-1).sqrt().mean(-1).tolist()
        for name, mask in (("gradient_word", is_word), ("gradient_syntax", ~is_word))
    }
