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
    question="Does a long dependency have to be learned through what stands between its ends?",
    hero="conduit-frequency-figure-1",
)

TOKENS, VOCABULARY = 1_000_000, 1000  # section 4
HIDDEN, LEARNING_RATE, CLIP = 200, 1.0, 0.25  # section 3
FIGURE_1_EPOCH, FIGURE_2_EPOCH, FIGURE_2_LENGTH = 40, 50, 8  # captions of Figures 1 and 2
RULES, CONDUITS, COPIES = 1000, 100, 1000  # section 4.2: n, the size of the set, m
COPIED_TIMES = 100  # the same of Figure 3: "copying each conduit 100 times"
ERROR = 1e-5  # section 4

LONGER_NEEDS_MORE = "'a longer conduit length requires more examples before the model can learn the corresponding rule'"
OPEN_CARRIES = (
    "'the extremely low probability assigned to the close symbol according to the contributions of the conduit'"
)
RARE_RULE = (
    "'as determined by the open symbol is low but steady regardless of the conduit length, while the probability as "
    "determined by the conduit declines with conduit length'"
)
COUNTING = (
    "'the conduit interacts with the open symbol to increase the probability slightly, a sign that the model is "
    "counting the intervening symbols'"
)
HELPS_EARLY = "'promotes early learning of the rule'"
HURTS_LATE = (
    "'inhibits learning of the symbol-matching rule over the long run of training'; 'prevents the model from "
    "confidently learning these long-range connections'"
)
PROCEDURE = "'We found momentum and weight decay to slow rule learning in this setting, so they are not used.'"
GRADIENT = (
    "argued, not measured: 'if the language model relies on linguistic structure in the conduit in order to pass the "
    "message effectively, then the more predictable conduit will facilitate learning a long-range pattern'"
)
APPROXIMATION = "an approximation error below 1e-5 'for all analyses'"
