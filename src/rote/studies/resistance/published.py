"""What source 001 says, in its own words and in one place. Its figures carry no numbers in the text."""

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
    question="Does gradient descent keep networks from a compositional solution that fits the training data?",
    hero="plane-boundaries-over-training",
)

SEEDS_NOT_COMPOSITIONAL = "with different random seeds 'the trained model do not have compositionality'"  # Figure 6
CORNER_NOT_LEARNED = "'the trained model does not have good compositionality'"
EARLY_BOUNDARY = (
    "the samples 'push the updated boundary in step 1 to the middle of upper right area. In the following steps, the "
    "loss is low and do not change much, so that the boundary remains stable'"
)
REDUNDANT_INPUT_IS_USED = "gradient descent 'tends to use all possible and redundant information from input'"
TRAINS_FASTER = "'The training accuracy improves faster in the first setting than in the second one'"
LARGER_GAP = "in the first setting the gap 'is significantly larger than that in the second setting'"
CLOSE_IN_B = "'In the second setting, the training (red) and test (brown) performances are close'"  # Figure 3
CLOSER_TO_B = "'In parameter space, gradient descent encourages parameters closer to theta_B, than theta_A'"  # Figure 1
STRUCTURE_ALONE = (
    "approaches 'with model structure design (manual or searching) alone are not likely to achieve complete "
    "compositionality'"
)
# Table 1: part, command, actions, as printed.
EXAMPLES = (
    ("training", "jump", "JUMP"),
    ("training", "walk before run left", "WALK LTURN RUN"),
    ("training", "look left twice and run opposite right", "LTURN LOOK LTURN LOOK RTURN RTURN RUN"),
    ("test", "jump twice before walk", "JUMP JUMP WALK"),
    ("test", "turn right after jump twice", "JUMP JUMP RTURN"),
    ("test", "jump left twice after jump right", "RTURN JUMP LTURN JUMP LTURN JUMP"),
)
# Propositions 1, 2 with its assumption, 3 and 4, and 5.
GRADIENT_AND_INFORMATION = "I(X; Y) > 0 if and only if dY/dX is not 0"
LOSS_AND_INFORMATION = (
    "'we assume that when it is reduced', the prediction 'moves closer to Y, and increases the mutual information'"
)
INPUT_MOVES_PREDICTION = "if an input 'has information to reduce loss', the derivative by it is not 0"
OUTPUTS_ARE_ENTANGLED = (
    "if X_j 'has information to reduce loss' through the change of Y_i, the derivative of Y_i by X_j is not 0"
)
SCAN_TRAINS_FASTER = "'increases faster during the early training (steps 10-25) in the first setting'"
SCAN_LARGER_GAP = "the gap 'is significantly larger in the first setting than in the second setting'"
