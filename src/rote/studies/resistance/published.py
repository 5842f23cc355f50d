"""What source 001 says, in one place. Its figures carry no numbers in the text, so its claims are compared in words."""

from rote.claims import Source

SOURCE = Source(
    id="001",
    name="resistance",
    title="Gradient descent resists compositionality",
    bibtex="""@misc{resistance,
  title  = {Gradient Descent Resists Compositionality},
  author = {Anonymous},
  note   = {Paper under double-blind review},
  year   = {2020}
}""",
)

SEEDS_NOT_COMPOSITIONAL = "no seed shown is compositional"  # Figure 6
CORNER_NOT_LEARNED = "the trained model does not have good compositionality"  # section 6
EARLY_BOUNDARY = "boundary in place after step 1, then low loss and a stable boundary"  # section 6, Figure 5
REDUNDANT_INPUT_IS_USED = "the redundant input is used although the class does not need it"  # sections 4 and 6
