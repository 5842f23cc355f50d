"""What source 004 says and shows, in one place.

The lecture itself prints no measured number. Its figure of hidden states is Elman 1990, Figure 7; what that article
reports is under ELMAN. AGREEMENT is computed from the output files that the authors of two later articles released, not
copied from their tables: context for our generated sentences, not something that these could reproduce.
"""

from rote.claims import Source

SOURCE = Source(
    id="004",
    name="foundations",
    title="Recurrent Neural Networks, I",
    bibtex="""@misc{foundations,
  title  = {Recurrent Neural Networks, {I}},
  author = {Steinert-Threlkeld, Shane},
  note   = {Lecture slides, LING 574 Deep Learning for NLP}
}

@article{elman1990,
  title   = {Finding Structure in Time},
  author  = {Elman, Jeffrey L.},
  journal = {Cognitive Science},
  volume  = {14},
  number  = {2},
  pages   = {179--211},
  year    = {1990}
}""",
    question="What can a simple recurrent network find in a sequence, and what becomes of distance?",
    hero="elman-words-steps",
)

# Elman 1990: sizes of the four simulations.
XOR_BITS, XOR_PASSES, XOR_CYCLES = 3000, 600.0, 1200  # p. 185-186; cycles averaged in Figure 3
LETTER_CONSONANTS, LETTER_PASSES = 1000, 200.0  # p. 187-190
WORD_SENTENCES, WORD_WORDS, WORD_LETTERS, WORD_PASSES = 200, 1270, 4963, 10.0  # p. 191-194
LEXICON_SENTENCES, LEXICON_PASSES = 10_000, 6.0  # p. 195-199
LEXICON_STREAMS = (27_534, 27_354, 27_454)  # the one length of the stream, as given on p. 195-197, 196-199, 204-205

# Elman 1990, the lexicon: errors of the trained network.
LEXICON_ERROR = 0.88  # "RMS" on actual successors, p. 199 (15.5 before training); an output of all zeros has 1.0
LEXICON_LIKELIHOOD, LEXICON_LIKELIHOOD_SD = 0.053, 0.100  # "RMS" against likelihood vectors
LEXICON_COSINE, LEXICON_COSINE_SD = 0.916, 0.123  # mean cosine with likelihood vectors

# Elman 1990, what it says of them, shortened.
XOR_DROP = "the error drops at every third bit"  # p. 185, Figure 3
XOR_EVERYWHERE = "XOR is applied at all positions"  # p. 186
LETTERS_VOWELS = "error high on consonants, low on vowels"  # p. 189, Figure 4
LETTERS_BITS = "error low for the bit Consonant, high for the bit High"  # p. 190, Figure 5
WORDS_ONSET = "error high at the onset of a word, falling as more of it is received"  # p. 193, Figure 6
WORDS_BOUNDARIES = "error as a clue to the sequences that recur, which are words"  # p. 194
LEXICON_PREDICTION = f"cosine {LEXICON_COSINE}, error {LEXICON_ERROR} where all-off has 1.0"
LEXICON_TREE = "verbs and nouns; animate and inanimate; human, animal, food, breakable"  # Figure 7
LEXICON_ZOG = "an unseen word in the place of 'man' joins the branch of humans"  # Figure 8
LEXICON_TOKENS = "no token falls into the branch of another word"  # p. 202, Figure 9

# The lecture, in its words.
NUMBER = "to get the number on the verb, need to look at the subject, which can be very far away"
N_GRAMS = "n-gram models, which cannot build such dependencies"
BOTH_N_GRAMS = "N-gram (whether count-based or neural) cannot"
IN_PRINCIPLE = "in principle, should help models capture long-distance dependencies"
SELECTION = "N-gram (whether count-based or neural) cannot. E.g., with n=4: P(word | “they wanted a larger”)"
# Slides "@tensor_op", "Simple / Vanilla / Elman RNNs", "Training: BPTT" and "Next Time".
TENSOR_OP = "converts Operations into methods on Tensors; handles dynamic graph construction, the ctx magic, etc."
UNROLLED = "“unroll” the network across time-steps; apply backprop to the “wide” network"
BPTT = "gradients sum across time-steps: dJ/dW_h = sum over i of dJ/dW_h at (i)"
VANISHING = "a technical problem in training Vanilla RNNs: vanishing gradients; introduce gating-based RNNs"
NOT_PUBLISHED = "not published: ours"

# Share of items with the right verb form. Best model of each kind: original sentences, nonsense sentences.
AGREEMENT = {
    "Gulordava et al. 2018, English": {"lstm": (0.805, 0.718), "elman": (0.732, 0.642), "n-gram LSTM": (0.707, 0.566)},
    "Gulordava et al. 2018, Italian": {"lstm": (0.908, 0.848), "elman": (0.866, 0.762), "n-gram LSTM": (0.832, 0.791)},
    "Gulordava et al. 2018, Hebrew": {"lstm": (0.952, 0.798), "elman": (0.885, 0.744), "n-gram LSTM": (0.901, 0.771)},
}
# Lakretz et al. 2019, one prepositional phrase: number of the subject and of the attractor.
ATTRACTOR = {
    ("singular", "singular"): 0.989, ("singular", "plural"): 0.867,
    ("plural", "singular"): 0.930, ("plural", "plural"): 0.987,
}  # fmt: skip

# Elman 1990, Figure 7: the branches of the tree that the article names, or that stand out in it, with all their words.
_SMALL, _LARGE = ("mouse", "cat", "dog"), ("monster", "lion", "dragon")
_HUMAN, _FOOD, _BREAKABLE = ("woman", "girl", "man", "boy"), ("sandwich", "cookie", "bread"), ("plate", "glass")
_INTRANSITIVE = ("think", "exist", "sleep")
_INANIMATE = ("car", "book", "rock", *_FOOD, *_BREAKABLE)
LEXICON_GROUPS = {
    "nouns": (*_SMALL, *_LARGE, *_HUMAN, *_INANIMATE),
    "verbs": ("smell", "move", "see", *_INTRANSITIVE, "break", "smash", "like", "chase", "eat"),
    "animate": (*_SMALL, *_LARGE, *_HUMAN),
    "inanimate": _INANIMATE,
    "human": _HUMAN,
    "animals": (*_SMALL, *_LARGE),
    "small animals": _SMALL,
    "large animals": _LARGE,
    "food": _FOOD,
    "breakable": _BREAKABLE,
    "intransitive": _INTRANSITIVE,
}

# The lecture on uses: classification, tagging, language modeling. It reports no measurement of them.
FINAL_STATE = "use mask to tell model what to ignore, either: select correct final states [classification]"
PADDED_LOSS = "use mask to tell model what to ignore, either: multiply losses in tagging tasks [LM]"
ONE_TO_MANY = "one to many, e.g. image captioning"
USES = "uses: classification, tagging"
EXTENSIONS = "extensions: deep, bidirectional"
AVERAGE = "feed-forward networks: fixed-size input; previous classifier: average embeddings of words"
WINDOW = "previous LM: n-gram assumption (i.e. fixed-size context of word embeddings)"
STOPPING = "additional training notes: regularization, early stopping, hyper-parameter searching"
# Averaging networks on five classes of sentiment (SST-5), six epochs: share right in dev, as solutions of the course's
# fourth homework print it. One seed each.
COURSE_AVERAGE = {"plain": 0.376, "L2": 0.388, "word dropout": 0.390}
REGULARIZATION = f"dev accuracy {', '.join(f'{name} {value}' for name, value in COURSE_AVERAGE.items())} (SST-5)"
