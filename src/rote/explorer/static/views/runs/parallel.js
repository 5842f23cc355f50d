// Parallel coordinates: every setting that was tried of a recipe as a line over its settings to what came out.
import { category, sequential } from "../../lib/color.js";
import { fill, h, number, svg } from "../../lib/dom.js";

const [HIGH, TOP, FOOT, SIDE] = [260, 40, 26, 46];
const FEW = 8; // different numbers that are marked one by one
const plain = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? number(value) : String(value));

// Where each value of an axis stands, 0 at the foot: numbers by size, in even steps where they are few; else by name.
export function places(values) {
  const given = values.filter((value) => value !== null && value !== undefined);
  const numeric = given.length > 0 && given.every((value) => typeof value === "number");
  const known = [...new Set(values.map(plain))];
  if (!numeric || known.length <= FEW) {
    const order = numeric ? [...new Set(given)].sort((a, b) => a - b).map(plain) : known.filter((name) => name !== "–").sort();
    if (known.includes("–")) order.unshift("–");
    const names = [...new Set(order)];
    const at = (value) => (names.length > 1 ? names.indexOf(plain(value)) / (names.length - 1) : 0.5);
    return { at, ticks: names.map((name, index) => [names.length > 1 ? index / (names.length - 1) : 0.5, name]) };
  }
  const [low, high] = [Math.min(...given), Math.max(...given)];
  const at = (value) => (typeof value === "number" ? (value - low) / (high - low || 1) : 0);
  return { at, ticks: [low, (low + high) / 2, high].map((value) => [at(value), number(value)]) };
}

// onpick(id): a line was chosen. update(found, measure, compared): what POST /api/runs/settings answers; ids in order.
export function parallelCoordinates(onpick) {
  const readout = h("p", { class: "parallel-readout", "aria-live": "polite" });
  const plot = h("div", { class: "parallel", tabindex: "0", role: "group", "aria-label": "Settings that were tried; arrow keys go through them, Enter compares" });
  const said = h("p", { class: "hint small" });
  const element = h("section", { class: "panel parallel-panel", "aria-label": "Settings that were tried", hidden: true }, h("h2", {}, "Settings that were tried"), said, h("div", { class: "scroll", role: "region", "aria-label": "Parallel coordinates" }, plot), readout);
  let lines = [];
  let chosen = -1;

  function tell(index) {
    chosen = index;
    lines.forEach((line, at) => line.element.classList.toggle("pointed", at === index));
    readout.textContent = index < 0 ? "Point at a line, or use the arrow keys, to read its setting. Click it to compare its curves." : lines[index].text;
  }

  plot.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (by && lines.length) tell((chosen + by + lines.length) % lines.length);
    else if (event.key === "Enter" && chosen >= 0) onpick(lines[chosen].id);
    else return;
    event.preventDefault();
  });
  plot.addEventListener("pointerleave", () => tell(-1));

  function update(found, measure, compared) {
    const runs = found ? found.runs.map((run, index) => ({ ...run, index })).filter((run) => run.last[measure] !== undefined) : [];
    element.hidden = runs.length < 3 || !found.axes.length; // less is read in the tables
    if (element.hidden) return;
    runs.sort((a, b) => a.last[measure] - b.last[measure]);
    const axes = [...found.axes.map(({ key, values }) => ({ name: key, of: (run) => values[run.index] })), { name: `last ${measure}`, of: (run) => run.last[measure] }]
      .map((axis) => ({ ...axis, ...places(runs.map(axis.of)) }));
    const wide = Math.max(440, 2 * SIDE + 74 * (axes.length - 1));
    const x = (index) => SIDE + ((wide - 2 * SIDE) * index) / (axes.length - 1);
    const y = (share) => HIGH - FOOT - (HIGH - FOOT - TOP) * share;
    lines = runs.map((run, rank) => {
      const at = compared.indexOf(run.id);
      const points = axes.map((axis, index) => `${x(index)},${y(axis.at(axis.of(run)))}`).join(" ");
      const color = at >= 0 ? category(at) : sequential(0.3 + (0.6 * (runs.length - 1 - rank)) / Math.max(1, runs.length - 1));
      const text = axes.map((axis) => `${axis.name} ${plain(axis.of(run))}`).join(", ");
      const element = svg("polyline", { points, class: at >= 0 ? "tried compared" : "tried", stroke: color, "data-run": run.id });
      return { id: run.id, text, element };
    });
    lines.forEach((line, index) => {
      line.element.addEventListener("pointerenter", () => tell(index));
      line.element.addEventListener("click", () => onpick(line.id));
    });
    const label = (text, at, high, attributes) => svg("text", { x: at, y: high, "font-size": 11, "text-anchor": "middle", fill: "var(--muted)", "font-family": "var(--sans)", ...attributes }, text);
    const drawn = axes.map((axis, index) => [
      svg("line", { x1: x(index), x2: x(index), y1: y(0), y2: y(1), stroke: "var(--strong-line)" }),
      label(axis.name.split(".").at(-1), x(index), 16 + 14 * (index % 2), { fill: "var(--ink)" }),
      axis.ticks.map(([share, text]) => [label(text, x(index) + 5, y(share) + 4, { "text-anchor": "start", "paint-order": "stroke", stroke: "var(--raised)", "stroke-width": 3 })]),
    ]);
    const ordered = [...lines].sort((a, b) => a.element.classList.contains("compared") - b.element.classList.contains("compared"));
    fill(plot, svg("svg", { role: "img", "aria-label": `${runs.length} settings of ${found.recipe}, from ${axes.map(({ name }) => name).join(", ")}`, width: wide, height: HIGH, viewBox: `0 0 ${wide} ${HIGH}` }, ordered.map((line) => line.element), drawn));
    said.textContent = `${found.recipe}: ${runs.length} trainings, a line each; the darker, the lower the last ${measure}; in color those that are compared.${found.left_out ? ` ${found.left_out} older ones are left out.` : ""}`;
    tell(-1);
  }

  return { element, update };
}
