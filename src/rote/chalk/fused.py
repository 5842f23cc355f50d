"""Two operations that do what many small ones do, for speed: less Python, larger products, less memory.

Each is checked against the same computation in single operations. Time comes first inside, so that a step is one
contiguous block; the weights' gradients are one product over all steps instead of one per step.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from rote.chalk.ops import check_targets, is_time_first
from rote.chalk.tensor import Array, Ctx, Operation, tensor_op

# The C library on Linux gives memory back to the system after every training step, to fetch it anew in the next, which
# takes a third of the time. Having freed one large block it keeps up to twice as much.
np.empty(1 << 24, np.uint8)


@tensor_op
class rnn(Operation):
    """h_t = tanh(x_t W_x + h_(t-1) W_h + b) for x [batch, time, input]: all states [batch, time, hidden]."""

    @staticmethod
    def forward(ctx: Ctx, x: Array, w_x: Array, w_h: Array, b: Array, initial: Array | None = None) -> Array:
        if x.ndim != 3 or (initial is not None and initial.shape != (len(x), len(w_h))):
            raise ValueError("expected [batch, time, input], weights, and where it is given a state [batch, hidden].")
        batch, time, size = x.shape
        x = np.ascontiguousarray(x.swapaxes(0, 1)).reshape(time * batch, size)
        states = np.empty((time + 1, batch, len(w_h)), np.result_type(x, w_h))
        states[0] = 0 if initial is None else initial
        np.matmul(x, w_x, out=states[1:].reshape(time * batch, -1))
        states[1:] += b
        product = np.empty_like(states[0])
        for old, new in itertools.pairwise(states):
            np.add(new, np.dot(old, w_h, out=product), out=new)
            np.tanh(new, out=new)
        ctx += [x, w_x, w_h, states, initial]
        return states[1:].swapaxes(0, 1)

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array, ...]:
        x, w_x, w_h, states, initial = ctx
        time, batch, hidden = states[1:].shape
        sums, slopes = np.empty_like(states[1:]), np.square(states[1:])
        np.subtract(1, slopes, out=slopes)
        back, w_back = np.zeros_like(states[0]), np.ascontiguousarray(w_h.T)
        steps = zip(grad_output.swapaxes(0, 1)[::-1], sums[::-1], slopes[::-1], strict=True)
        for given, grad, slope in steps:  # grad: d loss / d h_t, then d loss / d the sum inside its tanh
            np.add(given, back, out=grad)
            np.multiply(grad, slope, out=grad)
            np.dot(grad, w_back, out=back)
        flat = sums.reshape(time * batch, hidden)
        ones = np.ones(len(flat), flat.dtype)  # their product with a matrix is a faster sum of its rows
        grad_x = (flat @ w_x.T).reshape(time, batch, -1).swapaxes(0, 1)
        grads = grad_x, x.T @ flat, states[:-1].reshape(time * batch, hidden).T @ flat, ones @ flat
        return grads if initial is None else (*grads, back)


@tensor_op
class linear_cross_entropy(Operation):
    """Cross entropy of the logits h W + b, h [..., hidden]: the mean over the positions that the mask leaves."""

    @staticmethod
    def forward(ctx: Ctx, h: Array, w: Array, b: Array, targets: Array, mask: Any = None) -> Any:
        mask = None if mask is None else np.asarray(getattr(mask, "value", mask), w.dtype)
        check_targets(targets, mask, h.shape[:-1], w.shape[1])
        swap = is_time_first(h)
        if swap:
            h, targets, mask = h.swapaxes(0, 1), targets.T, None if mask is None else mask.T
        flat, targets = h.reshape(-1, len(w)), targets.ravel()
        share = 1 / len(targets) if mask is None else mask.ravel() / mask.sum()
        scores = w.T @ flat.T  # [label, position]: sums over labels are faster along the first axis
        scores += b[:, None]
        scores -= scores.max(axis=0)
        right = (targets, np.arange(len(targets)))
        losses = -scores[right]
        np.exp(scores, out=scores)
        total = scores.sum(axis=0)
        losses += np.log(total)
        scores *= share / total  # from here on d loss / d logits: (softmax - one-hot) * share
        scores[right] -= share
        ctx += [h.shape, swap, flat, w, scores]
        return (losses * share).sum()

    @staticmethod
    def backward(ctx: Ctx, grad_output: Array) -> tuple[Array | None, ...]:
        shape, swap, flat, w, scores = ctx
        grad_h = (scores.T @ (w.T * grad_output)).reshape(shape)
        grad_h = grad_h.swapaxes(0, 1) if swap else grad_h
        return grad_h, (scores @ flat).T * grad_output, scores.sum(axis=1) * grad_output, None
