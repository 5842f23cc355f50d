// Verdicts and statuses as the report marks them: a sign, a color and the word.
import { h, svg } from "./dom.js";

const SIGNS = {
  reproduced: () => [svg("circle", { cx: 8, cy: 8, r: 7.25, fill: "currentColor" }), cut("M4.6 8.3l2.3 2.3 4.5-4.9")],
  partly: () => [ring(), svg("path", { d: "M8 1.5a6.5 6.5 0 0 1 0 13z", fill: "currentColor" })],
  "not reproduced": () => [svg("circle", { cx: 8, cy: 8, r: 7.25, fill: "currentColor" }), cut("M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4")],
  inconclusive: () => [ring(), svg("path", { class: "line", d: "M6.2 6.4c0-2.3 3.7-2.3 3.7 0 0 1.4-1.9 1.4-1.9 3" }), svg("circle", { cx: 8, cy: 11.5, r: 0.95, fill: "currentColor" })],
  "not run": () => [svg("circle", { class: "line", cx: 8, cy: 8, r: 6.5, "stroke-dasharray": "2.6 2.5" })],
};
const AS = { finished: "reproduced", running: "inconclusive", interrupted: "partly", failed: "not reproduced", damaged: "not reproduced", newer: "inconclusive" };

const ring = () => svg("circle", { class: "line", cx: 8, cy: 8, r: 6.5 });
const cut = (d) => svg("path", { d, fill: "none", stroke: "var(--raised)", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" });

export const tone = (word) => `is-${(AS[word] || word).replace(" ", "-")}`;

export function sign(word) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, (SIGNS[AS[word] || word] || SIGNS["not run"])());
}

export function badge(word) {
  return h("span", { class: `badge ${tone(word)}` }, sign(word), word);
}
