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
)

CELLS = {"gru": "GRU", "lstm": "LSTM", "nested_lstm": "Nested LSTM"}  # our name -> the source's

# Appendix: model configurations, and parameters of embedding, recurrent units, dense layer.
UNITS, WORDS = 600, 2**14
LAYERS = {"GRU": 2, "LSTM": 2, "Nested LSTM": 1}
DEPTH = {"GRU": None, "LSTM": None, "Nested LSTM": 2}
PARAMETERS = {
    "GRU": (16_200, 4_323_600, 9_847_986),
    "LSTM": (16_200, 5_764_800, 9_847_986),
    "Nested LSTM": (16_200, 5_764_800, 9_847_986),
}
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

HERO = "initially uses long-term memorization but as more characters become available the RNN switches to short-term"
LEARNING = "Nested LSTM barely uses past information; LSTM and GRU suggest 'learning', GRU with a higher probability"
ADVANCED = "the GRU model shows stronger connectivity with the word 'advanced'"
GRAMMAR = (
    "first time: no model before 4 characters; second time: GRU with 1, LSTM and Nested LSTM again need at least 4"
)
SCHOOLS = "the LSTM appears to use words from almost the entire sentence, its suggestions are far from correct"
SHORT_LONG = "GRU is better at long-term, LSTM at short-term contextual understanding"
ORDER = "cross entropy 2.1170, 2.1713, 2.4950; accuracy 52.01 %, 51.40 %, 47.10 %"
NESTED = "the Nested LSTM model barely uses past information"
ACCURACY_GRAPH = "accuracy given a fixed number of characters in a word that the RNN has seen"
TRAINING_GRAPH = "shows the training loss and validation loss"
