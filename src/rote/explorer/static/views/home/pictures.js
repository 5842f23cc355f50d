// Pictures of the first view that show what the server answers, each as far as its frame has come.
import { category, positive, negative } from "../../lib/color.js";
import { named } from "../../lib/glyphs.js";
import { chance } from "../../lib/textview.js";
import { fill, svg } from "../../lib/dom.js";
import { worthSeeing } from "../runs/worth_seeing.js";
import { HIGH, WIDE, bar, drawing, line, typed, words } from "./drawing.js";

const TYPED = { model: "gru", checkpoint: null, text: "the united states" };
const OUTCOMES = { supported: "var(--yes)", holds: "var(--yes)", contradicted: "var(--no)", "does not hold": "var(--no)", open: "var(--open)", void: "var(--half)" };

// Autocomplete: the words that a model expects at each letter.
export async function typing(api) {
  const answer = await api.post("/api/connectivity", { ...TYPED, top: 3 });
  const element = drawing(`The words that the GRU expects while “${TYPED.text}” is typed`);
  return { element, frames: answer.symbols.length, show(frame) {
    fill(element, typed(`${answer.symbols.slice(1, frame + 1).join("")}▏`, 8, 20), answer.suggested[frame].map((word, row) => {
      const [y, share] = [44 + 22 * row, answer.suggested_chances[frame][row]];
      return [typed(named(word), 8, y), bar(108, y - 9, 120 * share, 9, positive()), words(chance(share), WIDE - 44, y)];
    }));
  } };
}

// Units: the gates of a layer along the text.
export async function gates(api) {
  const answer = await api.post("/api/autocomplete", { ...TYPED, top: 1, layer: 0, series: "hidden" });
  const shown = Object.entries(answer.gates);
  const all = shown.flatMap(([, values]) => values);
  const range = [Math.min(...all), Math.max(...all)];
  const element = drawing(`The gates of the GRU while it reads “${TYPED.text}”: ${shown.map(([name]) => name).join(", ")}`);
  return { element, frames: answer.symbols.length, show(frame) {
    fill(element, shown.map(([name, values], index) => {
      const [color, dash, x] = [category(index), ["", "5 3", "2 3"][index % 3], 8 + 88 * index];
      const key = svg("line", { x1: x, x2: x + 18, y1: 8, y2: 8, stroke: color, "stroke-width": 1.8, "stroke-dasharray": dash });
      return [key, words(name, x + 22, 12), line(values, frame, range, color, dash)];
    }), typed(answer.symbols.slice(1, frame + 1).join("").slice(-30), 8, HIGH - 2, { "font-size": 12 }));
  } };
}

// Decomposition: what the phrase of the example contributes to each later prediction, against the rest.
export async function contributions(api) {
  const { model, text, phrase: [start, end] } = await api.get("/api/decomposition/example");
  const answer = await api.post("/api/decomposition/phrase", { model, text, start, end });
  const most = Math.max(...answer.phrase, ...answer.rest, 1e-9);
  const name = answer.symbols.slice(start, end + 1).join("").trim();
  const element = drawing(`What “${name}” contributes to each prediction in “${text.trim()}”, against the rest`);
  return { element, frames: answer.phrase.length, show(frame) {
    const [own, rest] = [answer.phrase[frame], answer.rest[frame]];
    const row = (title, value, y) => [words(title, 8, y), bar(84, y - 9, (130 * value) / most, 10, value < 0 ? negative() : positive()), words(value.toFixed(1), WIDE - 44, y)];
    fill(element, typed(answer.symbols.slice(1, start + frame + 1).join("").slice(-34), 8, 20), row(`“${name}”`, own, 50), row("the rest", rest, 72), words(`logit of “${named(answer.outputs[frame])}”`, 8, 98));
  } };
}

// Lookup tables: what is right, and what the two networks say, table by table.
export async function steps(api) {
  const which = { models: "bundled" };
  const { examples } = await api.post("/api/lookup/task", which);
  const answer = await api.post("/api/lookup/ask", { ...which, composition: examples.heldout_compositions || examples.train });
  const rows = [["right", answer.right], ...Object.entries(answer.models).map(([name, { answers }]) => [name, answers.map(([{ symbol }]) => symbol)])];
  const element = drawing(`The composition ${answer.inputs.join(" ")}, step by step`);
  const x = (step) => 84 + 62 * step;
  return { element, frames: 3 * answer.right.length, show(frame) {
    const seen = Math.floor(frame / 3) + 1;
    fill(element, answer.right.map((_, step) => typed(answer.inputs[step], x(step), 20, { fill: "var(--muted)" })), rows.map(([name, outputs], row) => [
      words(name, 8, 46 + 24 * row),
      outputs.slice(0, seen).map((output, step) => typed(output, x(step), 46 + 24 * row, { fill: output === answer.right[step] ? "var(--yes)" : "var(--no)", "text-decoration": output === answer.right[step] ? "none" : "line-through" })),
    ]));
  } };
}

// Profiles: the index of some that come with Rote.
export async function bars(api) {
  const found = (await api.get("/api/profiles")).profiles.filter(({ index }) => index).slice(0, 4);
  const element = drawing(`Indices of ${found.map(({ name }) => name).join(", ")}: 0 by rote, 1 composes`);
  return { element, frames: 12, show(frame) {
    fill(element, found.map(({ name, index: { value } }, row) => [
      words(name, 8, 22 + 24 * row), bar(96, 13 + 24 * row, (136 * value * (frame + 1)) / 12, 10, positive()), frame === 11 && words(value.toFixed(2), WIDE - 36, 22 + 24 * row),
    ]));
  } };
}

// The ledger: a mark for each claim, source by source.
export async function claims(api) {
  const { outcomes, summary } = await api.get("/api/home/claims");
  const rows = Object.values(outcomes).filter((row) => row.length);
  const step = Math.min(10, (WIDE - 16) / Math.max(...rows.map((row) => row.length)));
  const element = drawing(summary);
  return { element, frames: 16, show(frame) {
    fill(element, rows.map((row, y) => row.slice(0, Math.ceil((row.length * (frame + 1)) / 16)).map((outcome, x) =>
      svg("circle", { cx: 10 + step * x, cy: 12 + Math.min(18, HIGH / rows.length) * y, r: 0.4 * step, fill: OUTCOMES[outcome] || "var(--none)" }))));
  } };
}

// Runs: the curves of some runs of the store; of an empty one how to fill it.
export async function curves(api) {
  const chosen = worthSeeing((await api.get("/api/runs")).runs, 4);
  const compared = chosen.length ? (await api.post("/api/runs/compare", { runs: chosen })).runs : [];
  const drawn = compared.map((run) => run.curves.loss || Object.values(run.curves)[0]).filter((curve) => curve && curve.points.length > 1).map((curve) => curve.points.map(([, value]) => value));
  if (!drawn.length) {
    const empty = drawing("No run with curves is in the store yet");
    return { element: empty, frames: 1, show: () => fill(empty, words("No curves are in the store yet. A first study:", 8, 44), typed("rote run plane", 8, 68)) };
  }
  const all = drawn.flat();
  const range = [Math.min(...all), Math.max(...all)];
  const element = drawing(`Curves of ${drawn.length} runs of the store`);
  const frames = Math.min(20, Math.max(...drawn.map((values) => values.length)));
  return { element, frames, show(frame) {
    const reached = (values) => Math.round(((values.length - 1) * frame) / Math.max(1, frames - 1));
    fill(element, drawn.map((values, index) => line(values, reached(values), range, category(index))));
  } };
}
