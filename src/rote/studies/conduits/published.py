"""What source 000 says, in one place. Its figures carry no numbers in the text: most claims are compared in words."""

from rote.claims import Source

SOURCE = Source(
    id="000",
    name="conduits",
    title="Do LSTMs learn compositionally?",
    bibtex="""@misc{conduits,
  title  = {Do {LSTM}s Learn Compositionally?},
  author = {Anonymous},
  note   = {Anonymous submission},
  year   = {2019}
}""",
)

TOKENS, VOCABULARY = 1_000_000, 1000  # section 4
HIDDEN, LEARNING_RATE, CLIP = 200, 1.0, 0.25  # section 3
FIGURE_1_EPOCH, FIGURE_2_EPOCH, FIGURE_2_LENGTH = 40, 50, 8  # captions of Figures 1 and 2
RULES, CONDUITS, COPIES = 1000, 100, 1000  # section 4.2: n, the size of the set, m
ERROR = 1e-5  # section 4

LONGER_NEEDS_MORE = "a longer conduit length requires more examples"  # section 4.1, Figure 1
OPEN_CARRIES = "extremely low probability according to the contributions of the conduit"  # section 4.1, Figure 1
RARE_RULE = "open symbol low but steady regardless of length, conduit declining with length"  # section 4.1
COUNTING = "the conduit interacts with the open symbol to increase the probability slightly"  # section 4.1, Figure 2
HELPS_EARLY = "copying each conduit promotes early learning of the rule"  # section 4.2, Figure 3
HURTS_LATE = "copying each conduit inhibits learning of the rule over the long run"  # section 4.2, Figure 3
GRADIENT = "argued, not measured: the conduit that carries the gradient learns the rule faster"  # section 1
APPROXIMATION = "below 1e-5 for all analyses"  # section 4
