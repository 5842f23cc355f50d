"""What source 004 says of automatic differentiation and of backpropagation through time, and what would confirm it."""

from __future__ import annotations

from collections.abc import Callable

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.studies.foundations import published
from rote.studies.summaries import column_of, measured

EXACT = below(-12.0, at_all=-10.0)  # log10 of an error in float64, where rounding is about -16
GATED = ("lstm", "gru")


def average(name: str, cell: str, network: str = "untrained") -> Callable[[Tables], Estimate]:
    @measured
    def found(tables: Tables) -> Estimate:
        return mean(column_of(tables.get("seeds"), name, cell=cell, network=network))

    return found


def against_elman(cell: str, network: str) -> Callable[[Tables], Estimate]:
    """Networks of one seed learn from the same sequences."""

    @measured
    def found(tables: Tables) -> Estimate:
        mine, other = (column_of(tables.get("seeds"), "decay", cell=name, network=network) for name in (cell, "elman"))
        return paired_difference(mine, other)

    return found


CLAIMS = (
    Claim(
        "bptt-sum", "foundations", "Training: BPTT",
        "The gradient of a weight that all steps share is the sum of what each step contributes.",
        published.BPTT,
        (
            Measurement(
                "log10 of the relative difference between the sum and the gradient, Elman's cell",
                average("sum_error", "elman"), EXACT,
            ),
            *(
                Measurement(
                    f"The same, {cell}", average("sum_error", cell), EXACT,
                    role="control",
                )
                for cell in GATED
            ),
            Measurement(
                "The same without the nearest term, so that the test can fail",
                average("without_nearest", "elman"), above(-2.0), role="control",
            ),
        ),
        remark="A theorem; what is tested are two programs.",
    ),
    Claim(
        "bptt-unrolled", "foundations", "Training: BPTT; Simple / Vanilla / Elman RNNs",
        "Unrolled across time, with the weights of every step as nodes of their own, plain backpropagation gives "
        "these terms.",
        f"{published.VANILLA}; unroll the network across time-steps, apply backprop to the wide network",
        (
            Measurement(
                "log10 of the largest difference of its states from torch's, Elman's cell",
                average("states", "elman"), EXACT,
            ),
            Measurement(
                "log10 of the largest difference of its terms from those of rote.gradient_flow",
                average("engines", "elman"), EXACT,
            ),
            *(
                Measurement(
                    f"The same, {cell}", average("engines", cell), EXACT,
                    role="control",
                )
                for cell in GATED
            ),
        ),
    ),
    Claim(
        "bptt-tensor-op", "foundations", "@tensor_op",
        "A forward and a backward function, wrapped by tensor_op, are enough for right gradients of a whole "
        "network.",
        published.TENSOR_OP,
        (
            Measurement(
                "log10 of the largest difference from finite differences, Elman's cell",
                average("derivative", "elman"), below(-6.0),
            ),
        ),
        remark="The lecture's example of a decorator, printer, prints the result of the wrapped function but does "
        "not return it.",
    ),
    Claim(
        "bptt-vanishing", "foundations", "Next Time",
        "In a vanilla network the terms fade with distance.",
        published.VANISHING,
        (
            Measurement(
                "Change of log10 of a term's norm per step back, Elman's cell, untrained",
                average("decay", "elman", "untrained"), below(-0.1, at_all=0.0),
            ),
            Measurement(
                "The same after training", average("decay", "elman", "trained"),
                below(-0.1, at_all=0.0),
            ),
            Measurement(
                "Share recalled by the trained network",
                average("right", "elman", "trained"), above(0.9), role="contrast",
            ),
        ),
    ),
    Claim(
        "bptt-gates", "foundations", "Next Time",
        "Once trained, gated cells keep the terms of distant steps larger than a vanilla cell does.",
        published.VANISHING,
        (
            *(
                Measurement(
                    f"Decay per step of {cell} minus Elman's, trained",
                    against_elman(cell, "trained"), above(0.05, at_all=0.0),
                )
                for cell in GATED
            ),
            *(
                Measurement(
                    f"The same untrained, {cell}",
                    against_elman(cell, "untrained"), above(0.05, at_all=0.0),
                    role="contrast",
                )
                for cell in GATED
            ),
            *(
                Measurement(
                    f"Share recalled by the trained {cell}",
                    average("right", cell, "trained"), above(0.9),
                    role="contrast",
                )
                for cell in GATED
            ),
        ),
        remark="The lecture announces gated networks next to vanishing gradients; that they help is our reading.",
    ),
)  # fmt: skip
