// The settings of the recurrent playground: defaults, the permalink, what they are called. The server checks bounds.

export const DEFAULTS = {
  task: "parity", length: 5, pairs: "00 = 0\n01 = 1\n10 = 1\n11 = 0", cell: "gru", units: 16, batch: 16, learning_rate: 0.01, seeds: 3, seed: 0,
};

export const TASKS = [
  ["xor", "XOR in time", "triples"], ["copy", "Delayed copy", "delay"], ["parity", "Parity", "bits"],
  ["open_close", "Open and close", "symbols between"], ["agreement", "Agreement", "further nouns"], ["own", "Own pairs", ""],
];

export function toLink(settings) {
  return Object.fromEntries(Object.entries(DEFAULTS).map(([key, normal]) => [key, settings[key] === normal ? "" : String(settings[key])]));
}

export function fromLink(values) {
  const settings = { ...DEFAULTS };
  for (const [key, normal] of Object.entries(DEFAULTS)) {
    if (values[key]) settings[key] = typeof normal === "number" ? Number(values[key]) : values[key];
  }
  return settings;
}
