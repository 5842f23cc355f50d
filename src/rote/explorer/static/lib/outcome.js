// Verdicts and statuses as the report marks them: a sign, a color and the word.
import { h, svg } from "./dom.js";

const SIGNS = {
  supported: () => [disc(), cut("M4.6 8.3l2.3 2.3 4.5-4.9")],
  contradicted: () => [disc(), cut("M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4")],
  open: () => [ring(), line("M6.2 6.4c0-2.3 3.7-2.3 3.7 0 0 1.4-1.9 1.4-1.9 3"), svg("circle", { cx: 8, cy: 11.5, r: 0.95, fill: "currentColor" })],
  void: () => [ring(), line("M3.6 12.4l8.8-8.8")],
  holds: () => [ring(), line("M4.9 8.3l2.1 2.1 4-4.4")],
  "does not hold": () => [ring(), line("M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8")],
  tested: () => [ring(), line("M4.8 6.6h6.4M4.8 9.4h6.4")],
  "not run": () => [svg("circle", { class: "line", cx: 8, cy: 8, r: 6.5, "stroke-dasharray": "2.6 2.5" })],
};
const AS = { finished: "supported", running: "open", interrupted: "void", failed: "contradicted", damaged: "contradicted", newer: "open" };

const disc = () => svg("circle", { cx: 8, cy: 8, r: 7.25, fill: "currentColor" });
const line = (d) => svg("path", { class: "line", d });
const ring = () => svg("circle", { class: "line", cx: 8, cy: 8, r: 6.5 });
const cut = (d) => svg("path", { d, fill: "none", stroke: "var(--raised)", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" });

export const tone = (word) => `is-${(AS[word] || word).replaceAll(" ", "-")}`;

export function sign(word) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, (SIGNS[AS[word] || word] || SIGNS["not run"])());
}

export function badge(word) {
  return h("span", { class: `badge ${tone(word)}` }, sign(word), word);
}
