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
TRAINS_FASTER = "training accuracy improves faster in the first setting than in the second"  # section 5.1, Figure 3a
LARGER_GAP = "the gap of training and test accuracy is significantly larger in the first setting"  # section 5.1
# Propositions 1, 2, 3 and 4, and 5 of section 4.
GRADIENT_AND_INFORMATION = "I(X; Y) > 0 if and only if dY/dX is not zero"
LOSS_AND_INFORMATION = "when the loss is reduced, I(prediction; class) increases, so I(X; prediction) > 0"
INPUT_MOVES_PREDICTION = "an input with information to reduce the loss moves the prediction"
OUTPUTS_ARE_ENTANGLED = "an output also depends on the other outputs' inputs where these reduce the loss"
# Section 5.2, Figure 3b: SCAN.
SCAN_TRAINS_FASTER = "training accuracy increases faster in early training (steps 10-25) in the first setting"
SCAN_LARGER_GAP = "the gap of training and test accuracy is significantly larger in the first setting"
