"""What source 003 published, in one place: its tables, its settings, and where its text points into its figure.

Its stored matrices and curves are in ``stored.npz`` (see ``stored_data``).
"""

from rote.claims import Source

SOURCE = Source(
    id="003",
    name="memorization",
    title="Visualizing memorization in RNNs",
    bibtex="""@article{memorization,
  author  = {Madsen, Andreas},
  title   = {Visualizing memorization in {RNN}s},
  journal = {Distill},
  year    = {2019},
  note    = {https://distill.pub/2019/memorization-in-rnns},
  doi     = {10.23915/distill.00016}
}""",
    question="How far back does a recurrent network look when it completes a word?",
    hero="autocomplete-paragraph",
)

CELLS = {"gru": "GRU", "lstm": "LSTM", "nested_lstm": "Nested LSTM"}  # our name -> the source's


def title_of(cell: str) -> str:
    """What the source calls it; our own name for a cell that it does not have."""
    return CELLS.get(cell, cell)


# Appendix: model configurations, and parameters of embedding, recurrent units, dense layer.
UNITS, WORDS = 600, 2**14
LAYERS = {"GRU": 2, "LSTM": 2, "Nested LSTM": 1}
DEPTH = {"GRU": None, "LSTM": None, "Nested LSTM": 2}
PARAMETERS = {
    "GRU": (16_200, 4_323_600, 9_847_986),
    "LSTM": (16_200, 5_764_800, 9_847_986),
    "Nested LSTM": (16_200, 5_764_800, 9_847_986),
}


def parity(cell: str) -> float | None:
    """Its recurrent parameters over those of the LSTM."""
    return PARAMETERS[cell][1] / PARAMETERS["LSTM"][1] if cell in PARAMETERS else None


OBSERVATIONS, LENGTH, BATCH = 456_896, 200, 64  # of the training set; their characters; those of a mini-batch
EPOCH = OBSERVATIONS // BATCH  # 7139 mini-batches
STEPS = 2 * EPOCH
TEST = {"GRU": (2.1170, 0.5201), "LSTM": (2.1713, 0.5140), "Nested LSTM": (2.4950, 0.4710)}  # cross entropy, accuracy

# The paragraph of the connectivity figure (198 characters), and the characters that the text links to.
PARAGRAPH = (
    " context the formal study of grammar is an important part of education from a young age through advanced learning "
    "though the rules taught in schools are not a grammar in the sense most linguists use"
)
SITUATIONS = {
    28: "hero: grammar, before its first letter",
    34: "hero: grammar, six letters known",
    106: "1: learning, two letters known",
    32: "2: grammar, four letters known",
    159: "2: grammar again, one letter known",
    162: "2: grammar again, four letters known",
    141: "3: schools, one letter known",
}

HERO = (
    "'initially uses long-term memorization but as more characters become available the RNN switches to short-term "
    "memorization'"
)
LEARNING = (
    "'The Nested LSTM model barely uses past information'; 'the LSTM and GRU models both suggests the word', and the "
    "GRU 'predicts a higher probability'"
)
ADVANCED = "'The GRU model shows stronger connectivity with the word' advanced"
GRAMMAR = (
    "no model suggests it 'until it has seen at least 4 characters'; when it appears again, the GRU 'with only 1 "
    "character', the others 'again need at least 4 characters'"
)
SCHOOLS = (
    "'What makes this case noteworthy is how the LSTM model appears to use words from almost the entire sentence as "
    "context. However, its suggestions are far from correct'"
)
SHORT_LONG = (
    "'the GRU model is better at long-term contextual understanding, while the LSTM model is better at short-term "
    "contextual understanding'"
)
ORDER = "'the overall accuracy of the GRU and LSTM models are almost identical': 52.01 %, 51.40 %; Nested LSTM 47.10 %"
LOSSES = "test cross entropy 2.1170 (GRU), 2.1713 (LSTM), 2.4950 (Nested LSTM)"
NESTED = "of one situation: 'The Nested LSTM model barely uses past information'; it 'may not generalize'"
ACCURACY_GRAPH = "'the accuracy given a fixed number of characters in a word that the RNN has seen'"
TRAINING_GRAPH = "'shows the training loss and validation loss'"
