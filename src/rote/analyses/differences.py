"""What a part p of a value changes in a function of it, without cancellation.

For phi in sigmoid, tanh, relu: 1/2 (phi(p + b) - phi(b) + phi(v) - phi(v - p)), the mean of what p adds first and last.
Subtracting values of phi would leave an error of the size of their rounding, which for a small p is many times p itself
and grows where a decomposition is unstable. With

    tanh(x + p) - tanh(x)       = tanh(p) (1 - tanh(x + p) tanh(x))
    sigmoid(x + p) - sigmoid(x) = tanh(p / 2) (s (1 - t) + t (1 - s)),   s = sigmoid(x + p), t = sigmoid(x)
    relu(x + p) - relu(x)       = max(p + min(x, 0), -max(x, 0))

the error is a rounding of the difference itself, and a p of zero gives zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Number = Tensor | float
# (p, b, v, phi(b), phi(v)) -> the mean difference; b and phi(b) may be plain numbers.
Difference = Callable[[Tensor, Number, Tensor, Number, Tensor], Tensor]


def tanh_(values: Tensor) -> Tensor:
    """In place. numpy's is seven times as fast as torch's on the CPU."""
    if values.device.type != "cpu" or values.dtype not in (torch.float32, torch.float64):
        return values.tanh_()
    array = values.numpy()
    np.tanh(array, out=array)
    return values


def of_tanh(part: Tensor, b: Number, v: Tensor, alone: Number, total: Tensor) -> Tensor:
    shared = tanh_(v - part).mul_(-0.5 * total).add_(1)
    if isinstance(alone, Tensor) or alone:
        shared.addcmul_(tanh_(part + b), torch.as_tensor(-0.5 * alone, dtype=part.dtype, device=part.device))
    return shared.mul_(tanh_(part.clone()))


def of_sigmoid(part: Tensor, b: Number, v: Tensor, alone: Number, total: Tensor) -> Tensor:
    first, last = torch.sigmoid_(part + b), torch.sigmoid_(v - part)
    shared = first.mul_(0.5 - alone).addcmul_(last, 0.5 - total).add_((total + alone) / 2)
    return shared.mul_(tanh_(part / 2))


def of_relu(part: Tensor, b: Number, v: Tensor, alone: Number, total: Tensor) -> Tensor:
    base, rest = torch.as_tensor(b, dtype=part.dtype, device=part.device), v - part
    first = torch.maximum(part + base.clamp(max=0), -base.relu())
    return first.add_(torch.maximum(part + rest.clamp(max=0), -rest.relu())).div_(2)


DIFFERENCES: dict[Callable[[Tensor], Tensor], Difference] = {
    torch.sigmoid: of_sigmoid,
    torch.tanh: of_tanh,
    torch.relu: of_relu,
}
