// The playground's settings: defaults, the permalink, and presets. Bounds are checked by the server.

export const DEFAULTS = {
  combinations: ["00", "01", "10"], redundancy: 1, noise: 0, batch: 10, points: 0, learning_rate: 0.1,
  regularization: "none", strength: 0.001, hidden: [8, 8, 8], activation: "relu", seeds: 4, seed: 0,
};

export const QUADRANTS = [
  { name: "01", where: "upper left", labels: "Y1 = 0, Y2 = 1" },
  { name: "11", where: "upper right", labels: "Y1 = 1, Y2 = 1" },
  { name: "00", where: "lower left", labels: "Y1 = 0, Y2 = 0" },
  { name: "10", where: "lower right", labels: "Y1 = 1, Y2 = 0" },
];
export const ORDER = ["00", "01", "10", "11"]; // of what the server sends for each quadrant

export const PRESETS = [
  ["corner", "Corner unseen (as published)", { combinations: ["00", "01", "10"], redundancy: 1 }],
  ["random", "X2 random (control)", { combinations: ["00", "01", "10"], redundancy: 0 }],
  ["narrow", "X2 says nothing (control)", { combinations: ["00", "10"], redundancy: 1 }],
  ["all", "All four quadrants", { combinations: ["00", "01", "10", "11"], redundancy: 1 }],
];

export function presetOf(settings) {
  const same = (wanted) => wanted.redundancy === settings.redundancy && String(wanted.combinations) === String(settings.combinations);
  return PRESETS.find(([, , wanted]) => same(wanted))?.[0] ?? "own";
}

// Only what differs from the defaults goes into the link; lists with commas, an empty one as "none".
export function toLink(settings) {
  const texts = {};
  for (const [key, normal] of Object.entries(DEFAULTS)) {
    const value = settings[key];
    texts[key] = String(value) === String(normal) ? "" : Array.isArray(value) ? value.join(",") || "none" : String(value);
  }
  return texts;
}

export function fromLink(values) {
  const settings = { ...DEFAULTS };
  for (const [key, normal] of Object.entries(DEFAULTS)) {
    const text = values[key];
    if (text === undefined || text === "") continue;
    if (key === "combinations") settings[key] = ORDER.filter((name) => text.split(",").includes(name));
    else if (key === "hidden") settings[key] = text === "none" ? [] : text.split(",").map(Number);
    else settings[key] = typeof normal === "number" ? Number(text) : text;
  }
  return settings;
}

// Frames over time, at most so many: when it is full, every second of the older ones is forgotten.
export class Past {
  constructor(most = 240) {
    this.most = most;
    this.frames = [];
  }

  add(frame) {
    if (this.frames.length && frame.step === this.frames.at(-1).step) this.frames.pop();
    this.frames.push(frame);
    if (this.frames.length > this.most) this.frames = this.frames.filter((_, index, all) => index % 2 === 0 || index === all.length - 1);
  }

  clear() {
    this.frames = [];
  }
}

// Mean, smallest and largest of the networks' values that are there.
export function summary(values) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return [null, null, null];
  return [there.reduce((a, b) => a + b) / there.length, Math.min(...there), Math.max(...there)];
}
