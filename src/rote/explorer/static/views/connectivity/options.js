// What is shown and measured; the first value of each is the one to begin with.
export const OPTIONS = {
  view: { label: "Show", values: [["row", "what an output draws on"], ["column", "what an input influences"], ["matrix", "the full matrix"]] },
  unit: { label: "Shade", values: [["characters", "characters"], ["words", "whole words"]] },
  norm: { label: "Measure", values: [["l2", "norm"], ["squared", "squared norm"], ["signed", "signed: gradient × input"]] },
  wrt: { label: "Gradient at", values: [["one_hot", "one-hot input"], ["embedding", "embedding"]] },
  of: { label: "Of the", values: [["logit", "logit"], ["log_probability", "log probability"]] },
  scale: { label: "Darkest is", values: [["position", "the largest here"], ["model", "the model's largest"], ["all", "the largest of all models"]] },
  ask: { label: "Asked about", values: [["text", "the text's own word"], ["choice", "the first suggestion"], ["word", "this word …"]] },
};

export const ASKED = ["norm", "wrt", "of", "ask"]; // what the server has to know
