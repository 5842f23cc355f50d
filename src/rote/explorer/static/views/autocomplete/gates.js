// The gates of a layer as lines along the text, and the order in which its units are worth looking at.
import { lineChart } from "../../lib/chart.js";
import { h } from "../../lib/dom.js";

const SHOWN = 32; // units, unless all are asked for

// The units that change most along the text, in the order in which they do: columns[step][unit].
export function moving(columns) {
  const units = columns.length ? columns[0].length : 0;
  const told = Array.from({ length: units }, (_, unit) => {
    let [low, high, jump, when] = [Infinity, -Infinity, -1, 0];
    columns.forEach((column, step) => {
      low = Math.min(low, column[unit]);
      high = Math.max(high, column[unit]);
      const change = step ? Math.abs(column[unit] - columns[step - 1][unit]) : 0;
      if (change > jump) [jump, when] = [change, step];
    });
    return { unit, range: high - low, when };
  });
  return told.sort((a, b) => b.range - a.range).slice(0, SHOWN).sort((a, b) => a.when - b.when || b.range - a.range).map(({ unit }) => unit);
}

// update(gates, unit): { name: [mean of the units at each step] }, as the server answers; what a step reads.
export function gateLines() {
  const chart = lineChart({ series: [], x: { label: "" }, y: { label: "mean of the units" }, height: 200 });
  const element = h("div", { class: "gate-lines", hidden: true }, h("p", { class: "hint" }, "The gates of this layer, each the mean of its units:"), chart.element);
  return {
    element,
    destroy: chart.destroy,
    update(gates, unit) {
      const series = Object.entries(gates).map(([name, means]) => ({ name: name.replace(/_/g, " "), points: means.map((value, step) => [step + 1, value]) }));
      element.hidden = !series.length;
      chart.update({ series, x: { label: unit } });
    },
  };
}
