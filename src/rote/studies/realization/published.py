"""What source 002 published, in one place. Four digits where the authors' model collection gives them.

BL: baseline; AG: attentive guidance. HC, HI, HT, NC: held-out compositions, inputs, tables, and new compositions.
"""

from rote.claims import Source

SOURCE = Source(
    id="002",
    name="realization",
    title="On the Realization of Compositionality in Neural Networks",
    bibtex="""@inproceedings{realization,
  title     = {On the Realization of Compositionality in Neural Networks},
  author    = {Baan, Joris and Leible, Jana and Nikolaus, Mitja and Rau, David and Ulmer, Dennis and
               Baumg{\\"a}rtner, Tim and Hupkes, Dieuwke and Bruni, Elia},
  booktitle = {Proceedings of the BlackboxNLP Workshop},
  year      = {2019}
}""",
    question="What is different inside a network that solves a task compositionally?",
    hero="lookup-surgery-table-4",
)

# Tables 5 and 6: sequence accuracy of runs 1 to 5.
ACCURACY = {
    "baseline": {
        "heldout_compositions": (0.2500, 0.1562, 0.2500, 0.2188, 0.2344),
        "heldout_inputs": (0.2000, 0.2000, 0.2250, 0.2250, 0.2000),
        "heldout_tables": (0.0417, 0.0573, 0.0417, 0.0312, 0.0677),
        "new_compositions": (0.0000, 0.0000, 0.0312, 0.0312, 0.0625),
    },
    "guided": {
        "heldout_compositions": (1.0, 1.0, 1.0, 1.0, 1.0),
        "heldout_inputs": (1.0, 1.0, 1.0, 1.0, 1.0),
        "heldout_tables": (0.8490, 0.9844, 0.8750, 0.9844, 0.9375),
        "new_compositions": (0.6875, 0.9688, 0.8125, 0.9688, 0.9062),
    },
}

# The authors' model collection only, not the paper: LSTM models, and longer compositions (lowest and highest run).
LSTM_RANGE = {("guided", "heldout_tables"): (0.40, 0.66), ("guided", "new_compositions"): (0.28, 0.44)}
LONGER_RANGE = {
    ("guided", "longer_seen"): (0.28, 0.28),
    ("guided", "longer_new"): (0.25, 0.63),
    ("guided", "longer_incremental"): (0.24, 0.24),
    ("baseline", "longer_seen"): (0.11, 0.16),
    ("baseline", "longer_new"): (0.0, 0.0),
    ("baseline", "longer_incremental"): (0.06, 0.08),
}

# Tables 2 and 3: accuracy of the functional group, accuracy of all units, units in the group.
DIAGNOSIS = {
    ("encoder state", "table", "baseline"): (0.93, 0.98, 35.0),
    ("encoder state", "table", "guided"): (0.98, 1.0, 2.0),
    ("decoder update gate", "table", "baseline"): (0.51, 0.53, 52.0),
    ("decoder update gate", "table", "guided"): (0.96, 1.0, 22.2),
    ("decoder reset gate", "table", "baseline"): (0.50, 0.52, 44.0),
    ("decoder reset gate", "table", "guided"): (0.96, 1.0, 20.8),
    ("encoder state", "time step", "baseline"): (0.95, 0.98, 40.0),
    ("encoder state", "time step", "guided"): (1.0, 1.0, 2.0),
}
STRONG_GROUP_UNITS = 0.93  # section 4.1: share of the guided models' group units among the 5 % strongest

# Figure 1, read off the published heat maps: mean absolute weight of the decoder embedding.
EMBEDDING = {
    ("baseline", "bit strings"): 0.035,
    ("guided", "bit strings"): 0.127,
    ("baseline", "start"): 0.235,
    ("guided", "start"): 0.239,
    ("baseline", "never used"): 0.041,
    ("guided", "never used"): 0.041,
}

# Section 3.2: thresholds that leave the strongest one percent of the weights.
THRESHOLDS = {"encoder": 0.2, "decoder": 0.17}
STRONGEST = 0.01

# Table 4: mean and standard deviation over three models, new compositions.
SUBSTITUTION = {
    ("guided", "none"): (0.82, 0.12),
    ("guided", "encoder"): (0.17, 0.11),
    ("guided", "encoder embedding"): (0.75, 0.09),
    ("guided", "encoder W_ih"): (0.89, 0.05),
    ("guided", "encoder W_hh"): (0.79, 0.12),
    ("guided", "decoder"): (0.12, 0.05),
    ("guided", "decoder embedding"): (0.31, 0.07),
    ("guided", "decoder W_ih"): (0.60, 0.08),
    ("guided", "decoder W_hh"): (0.91, 0.03),
    ("baseline", "none"): (0.01, 0.02),
    ("baseline", "encoder"): (0.02, 0.02),
    ("baseline", "decoder"): (0.02, 0.02),
}

SUBSTITUTION_ORDER = (
    "encoder .17, decoder .12 < decoder embedding .31 < decoder W_ih .60 < encoder embedding .75, encoder W_hh .79, "
    "none .82 <= encoder W_ih .89, decoder W_hh .91"
)

# Section 5.2: new compositions, after cutting all but 5 % of the neurons; before and after retraining.
PRUNED, RETRAINED, UNPRUNED = 0.124, 0.925, 0.823
