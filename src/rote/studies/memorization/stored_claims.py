"""What the source's text says of its own figures, held against its stored numbers.

One network of each cell: a verdict here says whether the stored data bear the sentence out, not whether another network
would. Words of the paragraph, test positions and stored mini-batches are what the intervals are over.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, difference, paired_difference
from rote.studies.memorization import published
from rote.studies.memorization.stored_accuracy import difference_of_shares
from rote.studies.memorization.tables import NORMS, REACH, SHARE
from rote.studies.summaries import grouped

READ = "read from the stored results of one network of each cell; no interval"
GROUPS = {"no character": range(1), "1 to 3": range(1, 4), "4 to 6": range(4, 7), "7 or more": range(7, 100)}
OUTSIDE = 4  # the rank of a word that is not among the three suggestions


def exact(value: float) -> Estimate:
    return Estimate(value, value, value, len(published.PARAGRAPH), READ)


def situation(tables: Tables, cell: str, output: int, column: str) -> Estimate:
    (row,) = tables["situations"].where(cell=cell, output=output).records()
    return exact(row[column])


def rank(tables: Tables, cell: str, output: int) -> Estimate:
    (found,) = tables["situations"].where(cell=cell, output=output).column("rank")
    return exact(OUTSIDE if found is None else found)


def more_likely(tables: Tables, first: str, second: str, output: int) -> Estimate:
    chances = [tables["situations"].where(cell=cell, output=output).column("chance")[0] for cell in (first, second)]
    return exact((chances[0] or 0.0) - (chances[1] or 0.0))


def on_word(tables: Tables, first: str, second: str, output: int, word: str, norm: str) -> Estimate:
    """Of the output's connectivity, the share on a word: that of one cell minus that of another."""
    shares = [
        tables["words"].where(cell=cell, output=output, word=word).column(f"share_{norm}")[0]
        for cell in (first, second)
    ]
    return exact(shares[0] - shares[1])


def letters_needed(tables: Tables, cell: str, occurrence: int) -> Estimate:
    """The fewest known characters of "grammar" with which it is among the three suggestions."""
    rows = tables["paragraph"].where(cell=cell, target="grammar").records()
    starts = [row["output"] for row in rows if row["character"] == " "]
    mine = [row for row in rows if 0 <= row["output"] - starts[occurrence] < len(" grammar")]
    found = [row["output"] - starts[occurrence] for row in mine if "grammar" in row["suggestions"]]
    return exact(min(found, default=len("grammar") + 1))


def fewest_letters(tables: Tables, occurrence: int) -> Estimate:
    cells = dict.fromkeys(tables["paragraph"].column("cell"))
    return exact(min(letters_needed(tables, cell, occurrence).value for cell in cells))


def over_words(tables: Tables, first: str, second: str, measure: str, norm: str) -> Estimate:
    """First minus second, means over the characters of a word; the words of the paragraph are the sample."""
    means = []
    for cell in (first, second):
        rows = tables["outputs"].where(cell=cell, norm=norm).records()
        means.append([float(np.mean([row[measure] for row in group])) for group in grouped(rows, ("word",)).values()])
    return paired_difference(*means)


def ahead(tables: Tables, first: str, second: str, known: range) -> Estimate:
    """Accuracy (top 1) of one cell minus that of another, over all positions with so many known characters."""
    counts = []
    for cell in (first, second):
        rows = tables["accuracy"].where(cell=cell, top=1).records()
        mine = [row for row in rows if row["k"] in known and row["positions"] is not None]
        counts.append((sum(row["hits"] for row in mine), sum(row["positions"] for row in mine)))
    return difference_of_shares(*counts)


def unequal_positions(tables: Tables) -> Estimate:
    """The largest difference between the positions counted for the three cells, over all known characters."""
    found = tables["accuracy-compared"].column("padding")
    return Estimate(max(found), max(found), max(found), len(found), "worked out from the stored decimals; no interval")


def final_losses(tables: Tables, first: str, second: str) -> Estimate:
    """Validation loss of the last thousand mini-batches: first minus second."""
    rows = tables["training"].where(set="valid").records()
    last = max(row["step"] for row in rows) - 1000
    losses = [[row["mean"] for row in rows if row["cell"] == cell and row["step"] > last] for cell in (first, second)]
    return difference(*losses)


def mixed(tables: Tables, how: str) -> Estimate:
    found = tables["smoothing"].column(how)
    return Estimate(max(found), max(found), max(found), len(found), "worked out from the stored curves; no interval")


def _share(cell: str, output: int, norm: str = "squared") -> partial[Estimate]:
    return partial(situation, cell=cell, output=output, column=f"share_{norm}")


CLAIMS = (
    Claim(
        "stored-hero", "memorization", "Hero figure, connectivity figure",
        "Predicting the first 'grammar', the GRU draws on earlier words before it has a letter, and on the word itself "
        "once it has six.",
        published.HERO,
        (
            Measurement("GRU at 28: share on previous words", _share("GRU", 28), above(0.5)),
            Measurement("GRU at 34: share on previous words", _share("GRU", 34), below(0.5)),
            Measurement("The first by the formula's norm", _share("GRU", 28, "l2"), above(0.5), role="control"),
            Measurement("The second by the formula's norm", _share("GRU", 34, "l2"), below(0.5), role="control"),
        ),
    ),
    Claim(
        "stored-learning", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' GRU and LSTM suggest it, the GRU with the higher probability; the Nested "
        "LSTM barely uses what came before and does not.",
        published.LEARNING,
        (
            Measurement("Rank of the word, GRU", partial(rank, cell="GRU", output=106), below(OUTSIDE)),
            Measurement("Rank of the word, LSTM", partial(rank, cell="LSTM", output=106), below(OUTSIDE)),
            Measurement(
                "Rank of the word, Nested LSTM (4: not suggested)", partial(rank, cell="Nested LSTM", output=106),
                above(3),
            ),
            Measurement(
                "Probability, GRU minus LSTM", partial(more_likely, first="GRU", second="LSTM", output=106), above(0.0)
            ),
            Measurement("Nested LSTM: share on previous words", _share("Nested LSTM", 106), below(0.1)),
        ),
    ),
    Claim(
        "stored-advanced", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' the GRU is connected more strongly with 'advanced' than the LSTM is.",
        published.ADVANCED,
        tuple(
            Measurement(
                f"Share on 'advanced', GRU minus LSTM, {title}",
                partial(on_word, first="GRU", second="LSTM", output=106, word="advanced", norm=norm), above(0.0),
            )
            for norm, title in (("squared", "squared norm (as stored and drawn)"), ("l2", "norm (as in the formula)"))
        ),
        remark="The source's formula has the norm of the gradient, its program and its figure the squared norm. The "
        "sentence is true of one and not of the other.",
    ),
    Claim(
        "stored-grammar", "memorization", "Connectivity figure, situation 2",
        "The first time no model suggests 'grammar' before four letters; the second time the GRU needs one, the others "
        "four again.",
        published.GRAMMAR,
        (
            Measurement("Letters needed the first time, fewest of the models", partial(fewest_letters, occurrence=0),
                        above(3)),
            Measurement("Letters needed the second time, GRU", partial(letters_needed, cell="GRU", occurrence=1),
                        below(2)),
            Measurement("Letters needed the second time, LSTM", partial(letters_needed, cell="LSTM", occurrence=1),
                        above(3)),
            Measurement("Letters needed the second time, Nested LSTM",
                        partial(letters_needed, cell="Nested LSTM", occurrence=1), above(3)),
        ),
    ),
    Claim(
        "stored-schools", "memorization", "Connectivity figure, situation 3",
        "With one letter of 'schools' the LSTM draws on words of almost the whole sentence, but does not suggest it.",
        published.SCHOOLS,
        (
            Measurement("Words drawn on, LSTM", partial(situation, cell="LSTM", output=141, column="words_squared"),
                        above(5.0, at_all=2.0)),
            Measurement("Rank of the word, LSTM (4: not suggested)", partial(rank, cell="LSTM", output=141), above(3)),
            Measurement("Words drawn on, GRU", partial(situation, cell="GRU", output=141, column="words_squared"),
                        above(5.0, at_all=2.0), role="contrast"),
            Measurement("Rank of the word, GRU (4: not suggested)", partial(rank, cell="GRU", output=141),
                        below(OUTSIDE), role="contrast"),
        ),
        remark="Words drawn on: 1 / sum of squared shares, of 25 words. That the GRU's suggestions are better is not "
        "tested beyond the rank of the word.",
    ),
    Claim(
        "stored-reach", "memorization", "Connectivity figure; section on recurrent units",
        "The Nested LSTM draws less on previous words, and less far back, than the GRU and the LSTM.",
        published.NESTED,
        tuple(
            Measurement(
                f"{measure.capitalize()}, {cell} minus Nested LSTM, {norm}",
                partial(over_words, first=cell, second="Nested LSTM", measure=measure, norm=norm), above(0.0),
                role="main" if norm == "squared" else "control",
            )
            for norm in NORMS for measure in (SHARE, REACH) for cell in ("GRU", "LSTM")
        ),
        remark="Intervals over the 34 words of one paragraph.",
    ),
    Claim(
        "stored-short-long", "memorization", "Accuracy graph",
        "The GRU is ahead where few characters of the word are known (long-term), the LSTM where many are.",
        published.SHORT_LONG,
        (
            *(
                Measurement(
                    f"Top 1, GRU minus LSTM, {name} known", partial(ahead, first="GRU", second="LSTM", known=known),
                    above(0.0), role="contrast" if name == "4 to 6" else "main",
                )
                for name, known in GROUPS.items() if name != "7 or more"
            ),
            Measurement(
                "Top 1, LSTM minus GRU, 7 or more known",
                partial(ahead, first="LSTM", second="GRU", known=GROUPS["7 or more"]), above(0.0),
            ),
        ),
        remark="Where short begins is not in the source; the groups are ours. With no character known, the case that "
        "needs the context most, it is the LSTM that is ahead.",
    ),
    Claim(
        "stored-order", "memorization", "Appendix, test table; training graph",
        "The GRU ends with the lowest loss, then the LSTM, then the Nested LSTM.",
        published.ORDER,
        (
            Measurement("Validation loss of the last 1000 mini-batches, LSTM minus GRU",
                        partial(final_losses, first="LSTM", second="GRU"), above(0.0)),
            Measurement("The same, Nested LSTM minus LSTM", partial(final_losses, first="Nested LSTM", second="LSTM"),
                        above(0.0)),
        ),
        remark="The order of the test table, on the stored validation losses.",
    ),
    Claim(
        "stored-positions", "memorization", "Accuracy graph",
        "The accuracy graph counts the characters of words.",
        published.ACCURACY_GRAPH,
        (
            Measurement("Largest difference between the models' numbers of positions on the one test set",
                        unequal_positions, below(1)),
        ),
        remark="It also counts the padding of batches as known characters: the positions of a test set cannot depend "
        "on the model. Words outside the vocabulary are errors at any number of characters.",
    ),
    Claim(
        "stored-smoothing", "memorization", "Training graph",
        "The plotted curves are of the training loss and of the validation loss.",
        published.TRAINING_GRAPH,
        (
            Measurement("Largest distance in nats from each curve smoothed by itself", partial(mixed, how="apart"),
                        below(0.005)),
            Measurement("Largest distance from both smoothed together, in turns", partial(mixed, how="together"),
                        below(0.005), role="contrast"),
        ),
        remark="Training and validation were smoothed as one series, so that each plotted curve contains the other.",
    ),
)  # fmt: skip
