// Loss and accuracy over training, and how far the loss at a step reaches back.
import { category } from "../../lib/color.js";
import { lineChart } from "../../lib/chart.js";
import { summary } from "../../lib/plane_settings.js";

export function curvesOf(past) {
  const loss = lineChart({ height: 200, legend: true });
  const accuracy = lineChart({ height: 200, legend: true });
  const back = lineChart({ height: 230, legend: true });

  function over(measure, kind, color, dash) {
    const rows = past.frames.map((frame) => [frame.step, ...summary(frame[measure][kind])]);
    return { name: kind, color, dash, points: rows.map(([x, mean]) => [x, mean]), band: rows.filter((row) => row[1] !== null).map(([x, , low, high]) => [x, low, high]) };
  }

  // By distance: 0 is the step of the loss itself.
  const byDistance = (values) => values.map((value, step) => [values.length - 1 - step, value]).reverse();

  function update(inside) {
    const x = { label: "updates", from: 0, to: Math.max(10, past.frames.at(-1)?.step ?? 0) };
    for (const [chart, measure, y] of [[loss, "loss", { label: "cross entropy, nats", from: 0 }], [accuracy, "accuracy", { label: "share right", from: 0, to: 1 }]]) {
      chart.update({ series: [over(measure, "known", category(4), ""), over(measure, "new", category(5), "6 3")], x, y });
    }
    if (!inside) return;
    const recurrent = Object.keys(inside.terms).find((name) => name.startsWith("weight_hh")) ?? Object.keys(inside.terms)[0];
    const lines = [
      { name: "|d loss / d state|", points: byDistance(inside.gradient), color: category(0), dash: "" },
      { name: `term of d loss / d ${recurrent}`, points: byDistance(inside.terms[recurrent]), color: category(1), dash: "6 3" },
      inside.products && { name: "product of Jacobians", points: byDistance(inside.products), color: category(4), dash: "2 3" },
      inside.jacobians && { name: "Jacobian of one step", points: byDistance(inside.jacobians), color: category(5), dash: "8 3 2 3" },
    ].filter(Boolean);
    back.update({ series: lines, x: { label: "steps back from the loss", from: 0, to: Math.max(1, inside.at) }, y: { label: "norm", log: true } });
  }

  return { loss, accuracy, back, update, svgs: () => [loss, accuracy, back].map((chart) => chart.svg()), destroy: () => [loss, accuracy, back].forEach((chart) => chart.destroy()) };
}
