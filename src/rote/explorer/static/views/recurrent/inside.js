// One network on one item: what it read, what was asked and said at each step, its states and gates unit by unit.
import { inkOn, sequential } from "../../lib/color.js";
import { fill, h, number, percent, svg } from "../../lib/dom.js";
import { heat } from "../../lib/heat.js";
import { bytes } from "../../lib/plane.js";

// pick(step): the loss at this step is to be looked at.
export function insideOf({ pick }) {
  const steps = h("div", { class: "steps", role: "group", "aria-label": "Steps of the item" });
  const chain = h("div", { class: "chain" });
  const maps = h("div", { class: "maps" });
  let shown = [];
  let names = "";
  let placed = "";

  function series(inside) {
    return [...inside.states.map((row) => ["state", row]), ...inside.gates.map((row) => ["gate", row])];
  }

  // The network drawn out: the state handed on from step to step, and under it the gradient on its way back, as thick
  // as what is left of it.
  function drawnOut(item, inside) {
    const most = Math.max(...inside.gradient, 1e-30);
    const wide = Math.max(32, ((chain.clientWidth || 400) / item.symbols.length) * (46 / (chain.clientHeight || 42)));
    const middle = (step) => wide * (step + 0.5);
    const forward = item.symbols.slice(1).map((_, step) => svg("path", { class: "handed", d: `M${middle(step) + 10} 14H${middle(step + 1) - 13}m-4-4l5 4-5 4` }));
    const back = inside.gradient.slice(0, -1).map((value, step) => svg("path", { class: "returned", d: `M${middle(step + 1) - 4} 36H${middle(step) + 6}m5-4l-6 4 6 4`, "stroke-width": Math.max(0.4, (6 * value) / most).toFixed(2) }, svg("title", {}, `|d loss / d state ${step + 1}| = ${number(value, 2)}`)));
    const boxes = item.symbols.map((_, step) => svg("rect", { class: step === inside.at ? "unit chosen" : "unit", x: middle(step) - 10, y: 4, width: 20, height: 20, rx: 4 }));
    return svg("svg", { viewBox: `0 0 ${wide * item.symbols.length} 46`, role: "img", "aria-label": `The network over ${item.symbols.length} steps; the gradient of the loss at step ${inside.at + 1} on its way back` }, forward, back, boxes);
  }

  function draw(task, inside) {
    const item = [...task.known, ...task.new][inside.item];
    if (!item) return;
    fill(chain, drawnOut(item, inside));
    chain.style.setProperty("grid-column", `1 / span ${item.symbols.length}`);
    fill(steps, chain, item.symbols.map((symbol, step) => {
      const chances = inside.chances[step];
      const best = chances.indexOf(Math.max(...chances.map((value) => value ?? -1)));
      const asked = item.asked[step];
      const right = asked !== null && task.answers[best] === asked;
      const color = sequential(asked === null ? 0 : 0.75 * (chances[best] ?? 0));
      return h("button", {
        type: "button", class: `step${step === inside.at ? " chosen" : ""}${asked === null ? " unasked" : right ? " right" : " wrong"}`, "aria-pressed": String(step === inside.at),
        "aria-label": `Step ${step + 1}: reads ${symbol}, ${asked === null ? "nothing is asked" : `asked ${asked}, says ${task.answers[best]} with ${percent(chances[best], 0)}`}`,
        onclick: () => pick(step),
      },
      h("span", { class: "answer" }, asked ?? "·"),
      h("span", { class: "said", style: { background: color, color: inkOn(color) } }, asked === null ? "" : `${task.answers[best]}`),
      h("span", { class: "symbol" }, symbol));
    }));
    if (`${inside.item} ${inside.at}` !== placed) { // of a long item the chosen step is in sight
      placed = `${inside.item} ${inside.at}`;
      const chosen = steps.querySelector(".step.chosen");
      steps.scrollLeft = chosen.offsetLeft - steps.offsetLeft - steps.clientWidth / 2;
    }
    const rows = series(inside);
    const now = JSON.stringify(rows.map(([kind, row]) => [kind, row.name, row.units, item.symbols.length]));
    if (now !== names) {
      names = now;
      shown.forEach(({ map }) => map.destroy());
      shown = rows.map(([kind, row]) => {
        const entry = { row, values: null, mean: h("small", { class: "mean" }), column: h("div", { class: "chosen-column", "aria-hidden": "true" }) };
        entry.map = heat({
          label: `${row.name} (${kind}): units by steps`, hint: "units by steps",
          read: (unit, step) => `${row.name}, unit ${unit}, step ${step + 1}: ${number(entry.at(unit, step), 2)}`, onpick: (_, step) => pick(step),
        });
        entry.map.frame.append(entry.column);
        entry.at = (unit, step) => ((entry.values[unit * entry.columns + step] / 255) * 2 - 1) * entry.row.largest;
        return entry;
      });
      fill(maps, shown.map(({ map, mean }, index) => h("figure", { class: rows[index][0] }, h("figcaption", {}, `${rows[index][1].name} `, h("small", {}, rows[index][0]), mean), map.element)));
    }
    shown.forEach((entry, index) => {
      [, entry.row] = rows[index];
      entry.values = bytes(entry.row.values);
      entry.columns = item.symbols.length;
      const units = Array.from({ length: entry.row.units }, (_, unit) => entry.at(unit, inside.at));
      entry.mean.textContent = `, mean ${number(units.reduce((sum, value) => sum + value, 0) / units.length, 2)} at step ${inside.at + 1}`;
      entry.column.style.setProperty("left", `${(100 * inside.at) / entry.columns}%`);
      entry.column.style.setProperty("width", `${100 / entry.columns}%`);
      const signed = rows[index][0] === "state" || entry.values.some((value) => value < 127);
      entry.map.set({ rows: entry.row.units, columns: entry.columns, signed, aspect: `${entry.columns} / ${Math.min(entry.row.units, entry.columns * 1.5)}`, value: (unit, step) => entry.at(unit, step) / (rows[index][0] === "gate" ? Math.max(1, entry.row.largest) : entry.row.largest) });
    });
  }

  return { steps, maps, draw, pictures: () => shown.map(({ map, row }) => [row.name, map.picture(480)]), destroy: () => shown.forEach(({ map }) => map.destroy()) };
}
