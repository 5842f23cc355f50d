"""Two operations that do what many small ones do, for speed: less Python and larger products.

Each is checked against the same computation in single operations. Time comes first inside, so that a step is one
contiguous block; the weights' gradients are one product over all steps instead of one per step.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from rote.chalk.ops import check_labels, tokens_in
from rote.chalk.tensor import Array, Ctx, Operation, tensor_op


@tensor_op
class rnn(Operation):
    """h_t = tanh(x_t W_x + h_(t-1) W_h + b) for x [batch, time, input]: all states [batch, time, hidden]."""

    @staticmethod
    def forward(ctx: Ctx, x: Array, w_x: Array, w_h: Array, b: Array, initial: Array | None = None) -> Array:
        batch, time, size = x.shape
        x = np.ascontiguousarray(x.swapaxes(0, 1)).reshape(time * batch, size)
        states = np.empty((time + 1, batch, len(w_h)), np.result_type(x, w_h))
        states[0] = 0 if initial is None else initial
        states[1:] = (x @ w_x + b).reshape(time, batch, -1)
        product = np.empty_like(states[0])
        for old, new in itertools.pairwise(states):
            np.add(new, np.matmul(old, w_h, out=product), out=new)
            np.tanh(new, out=new)
        ctx += [x, w_x, w_h, states, initial]
        return states[1:].swapaxes(0, 1)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array, ...]:
        x, w_x, w_h, states, initial = ctx
        time, batch, hidden = states[1:].shape
        sums = grad_output.swapaxes(0, 1) + 0  # at each step first d loss / d h_t, then d loss / d (sum inside tanh)
        slopes, back = 1 - states[1:] ** 2, np.zeros_like(states[0])
        for grad, slope in zip(sums[::-1], slopes[::-1], strict=True):
            np.multiply(np.add(grad, back, out=grad), slope, out=grad)
            np.matmul(grad, w_h.T, out=back)
        flat = sums.reshape(time * batch, hidden)
        grad_x = (flat @ w_x.T).reshape(time, batch, -1).swapaxes(0, 1)
        grads = grad_x, x.T @ flat, states[:-1].reshape(time * batch, hidden).T @ flat, flat.sum(axis=0)
        return grads if initial is None else (*grads, back)


@tensor_op
class linear_cross_entropy(Operation):
    """Cross entropy of the logits h W + b, h [..., hidden]: the mean over the positions that the mask leaves."""

    @staticmethod
    def forward(ctx: Ctx, h: Array, w: Array, b: Array, targets: Array, mask: Any = None) -> Any:
        check_labels(targets, w.shape[1])
        flat, targets = h.reshape(-1, len(w)), targets.ravel()
        scores = flat @ w + b
        scores -= scores.max(axis=1, keepdims=True)
        rows = np.arange(len(targets))
        right = scores[rows, targets]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        weights = np.full(len(targets), 1 / max(1, len(targets)), scores.dtype)
        if mask is not None:
            mask = np.asarray(getattr(mask, "value", mask), scores.dtype).ravel()
            weights = mask / tokens_in(mask)
        losses = np.log(total) - right
        scores *= (weights / total)[:, None]  # from here on d loss / d logits: (softmax - one-hot) * weight
        scores[rows, targets] -= weights
        ctx += [h.shape, flat, w, scores]
        return losses @ weights

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array | None, ...]:
        shape, flat, w, scores = ctx
        scores = scores * grad_output
        return (scores @ w.T).reshape(shape), flat.T @ scores, scores.sum(axis=0), None
