// One network on one item: what it read, what was asked and said at each step, its states and gates unit by unit.
import { inkOn, sequential } from "../../lib/color.js";
import { fill, h, number, percent } from "../../lib/dom.js";
import { heat } from "../../lib/heat.js";
import { bytes } from "../../lib/plane.js";

// pick(step): the loss at this step is to be looked at.
export function insideOf({ pick }) {
  const steps = h("div", { class: "steps", role: "group", "aria-label": "Steps of the item" });
  const maps = h("div", { class: "maps" });
  let shown = [];
  let names = "";

  function series(inside) {
    return [...inside.states.map((row) => ["state", row]), ...inside.gates.map((row) => ["gate", row])];
  }

  function draw(task, inside) {
    const item = [...task.known, ...task.new][inside.item];
    if (!item) return;
    fill(steps, item.symbols.map((symbol, step) => {
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
    const rows = series(inside);
    const now = JSON.stringify(rows.map(([kind, row]) => [kind, row.name, row.units, item.symbols.length]));
    if (now !== names) {
      names = now;
      shown.forEach(({ map }) => map.destroy());
      shown = rows.map(([kind, row]) => {
        const entry = { row, values: null };
        entry.map = heat({
          label: `${row.name} (${kind}): units by steps`, hint: "units by steps",
          read: (unit, step) => `${row.name}, unit ${unit}, step ${step + 1}: ${number(entry.at(unit, step), 2)}`, onpick: (_, step) => pick(step),
        });
        entry.at = (unit, step) => ((entry.values[unit * entry.columns + step] / 255) * 2 - 1) * entry.row.largest;
        return entry;
      });
      fill(maps, shown.map(({ map }, index) => h("figure", { class: rows[index][0] }, h("figcaption", {}, `${rows[index][1].name} `, h("small", {}, rows[index][0])), map.element)));
    }
    shown.forEach((entry, index) => {
      [, entry.row] = rows[index];
      entry.values = bytes(entry.row.values);
      entry.columns = item.symbols.length;
      const signed = rows[index][0] === "state" || entry.values.some((value) => value < 127);
      entry.map.set({ rows: entry.row.units, columns: entry.columns, signed, aspect: `${entry.columns} / ${Math.min(entry.row.units, entry.columns * 1.5)}`, value: (unit, step) => entry.at(unit, step) / (rows[index][0] === "gate" ? Math.max(1, entry.row.largest) : entry.row.largest) });
    });
  }

  return { steps, maps, draw, pictures: () => shown.map(({ map, row }) => [row.name, map.picture(480)]), destroy: () => shown.forEach(({ map }) => map.destroy()) };
}
