// Loss and information over training: means over the networks, and bands from the smallest to the largest.
import { category } from "../../lib/color.js";
import { lineChart } from "../../lib/chart.js";
import { ORDER, QUADRANTS, summary } from "../../lib/plane_settings.js";

const CURVES_EVERY = 150; // milliseconds between two drawings of the curves while it plays
const CURVES_AFTER = 25; // and after the panels, which are painted first
export const MEASURES = {
  loss: { title: "Loss", label: "cross entropy, nats", axis: { from: 0 } },
  accuracy: { title: "Share right", label: "share right", axis: { from: 0, to: 1 } },
};
export const BITS = {
  given: { title: "I(X; Y | the other X), bits", label: "bits", axis: { from: 0 } },
  alone: { title: "I(X; Y), bits", label: "bits", axis: { from: 0 } },
  gradient: { title: "Sensitivity |dY / dX|", label: "mean norm", axis: { from: 0 } },
};

// unseen(): the quadrants that training does not show; word(): what these are called.
export function curvesOf(open, past, { unseen, word }) {
  const lossChart = lineChart({ height: 230, legend: true });
  const bitsChart = lineChart({ height: 230, legend: true });

  function over(name, pick, color, dash) {
    const rows = past.frames.map((frame) => [frame.step, ...summary(pick(frame))]);
    return { name, color, dash, points: rows.map(([x, mean]) => [x, mean]), band: rows.filter((row) => row[1] !== null).map(([x, , low, high]) => [x, low, high]) };
  }

  let curvesAt = 0;
  let curvesLater = 0;
  function curves() {
    clearTimeout(curvesLater);
    curvesLater = setTimeout(drawCurves, Math.max(CURVES_AFTER, open.playing ? CURVES_EVERY - (performance.now() - curvesAt) : 0));
  }

  function drawCurves() {
    curvesAt = performance.now();
    const out = unseen();
    const x = { label: "updates", from: 0, to: Math.max(10, past.frames.at(-1)?.step ?? 0) };
    const measure = MEASURES[open.measure];
    const quadrants = QUADRANTS.map(({ name, where }, index) => over(
      `${where}${out.includes(name) ? ` (${word()})` : ""}`, (frame) => frame[open.measure].map((row) => row[ORDER.indexOf(name)]), category([0, 1, 2, 6][index]), out.includes(name) ? "5 3" : "",
    ));
    const training = open.measure === "loss" ? [{ ...over("training", (frame) => frame.train, "var(--ink)", ""), band: null }] : [];
    lossChart.update({ series: [...training, ...quadrants], x, y: { label: measure.label, ...measure.axis } });
    const bits = BITS[open.bits];
    bitsChart.update({
      series: [over("X1, decides the class", (frame) => frame[open.bits].map((row) => row[0]), category(1), ""), over("X2, redundant", (frame) => frame[open.bits].map((row) => row[1]), category(0), "5 3")],
      x, y: { label: bits.label, ...bits.axis },
    });
  }

  return {
    elements: [lossChart.element, bitsChart.element],
    update: curves,
    svgs: () => [lossChart.svg(), bitsChart.svg()],
    destroy() {
      clearTimeout(curvesLater);
      lossChart.destroy();
      bitsChart.destroy();
    },
  };
}
