// Pictures of the first view that are computed in the page: small networks, exactly as their labels say.
import { diverging, positive } from "../../lib/color.js";
import { fill, h, svg } from "../../lib/dom.js";
import { HIGH, WIDE, drawing, words } from "./drawing.js";

const [GRID, HIDDEN, RATE, PASSES, PLANE_FRAMES] = [28, 8, 0.2, 6, 40];

// Numbers from a seed, the same each time (a linear congruential generator).
function drawn(seed) {
  let state = seed;
  return () => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32;
}

// The plane of source 001: training sees three of its quadrants; what does the network make of the fourth?
function network() {
  const next = drawn(5);
  const points = Array.from({ length: 120 }, () => [2 * next() - 1, 2 * next() - 1]).filter(([x, y]) => x < 0 || y < 0);
  const [into, bias, out] = [Array.from({ length: HIDDEN }, () => [3 * next() - 1.5, 3 * next() - 1.5]), Array(HIDDEN).fill(0), Array.from({ length: HIDDEN }, () => next() - 0.5)];
  let shift = 0;
  const hidden = (x, y) => into.map(([a, b], unit) => Math.tanh(a * x + b * y + bias[unit]));
  const says = (x, y) => 1 / (1 + Math.exp(-hidden(x, y).reduce((sum, value, unit) => sum + value * out[unit], shift)));
  function pass() { // one step of gradient descent on all points
    for (const [x, y] of points) {
      const units = hidden(x, y);
      const error = ((x > 0 ? 1 : 0) - says(x, y)) * (RATE / points.length) * 8;
      units.forEach((value, unit) => {
        const back = error * out[unit] * (1 - value * value);
        out[unit] += error * value;
        into[unit][0] += back * x;
        into[unit][1] += back * y;
        bias[unit] += back;
      });
      shift += error;
    }
  }
  return { says, pass };
}

export async function plane() {
  const { says, pass } = network();
  const fields = Array.from({ length: PLANE_FRAMES }, () => {
    const field = Array.from({ length: GRID * GRID }, (_, at) => says((2 * (at % GRID) + 1) / GRID - 1, 1 - (2 * Math.floor(at / GRID) + 1) / GRID));
    for (let number = 0; number < PASSES; number += 1) pass();
    return field;
  });
  const canvas = h("canvas", { width: GRID, height: GRID, class: "home-plane", role: "img", "aria-label": "A network of 8 units learns which side is which; its training sees nothing of the upper right quarter" });
  const step = h("span", { class: "hint small" });
  return { element: h("div", { class: "home-trained" }, h("div", { class: "home-seen" }, canvas), step), frames: PLANE_FRAMES, show(frame) {
    const brush = canvas.getContext("2d");
    fields[frame].forEach((share, at) => {
      brush.fillStyle = diverging(2 * share - 1);
      brush.fillRect(at % GRID, Math.floor(at / GRID), 1, 1);
    });
    step.textContent = `${frame * PASSES} passes, the framed quarter unseen`;
  } };
}

// One unit h = tanh(w h + x) over eight steps, and the derivative of the last state by each earlier one.
export async function chain() {
  const [weight, inputs] = [1.1, [1.2, 0, 0.4, 0, 0, -0.3, 0, 0]];
  let state = 0;
  const states = inputs.map((input) => (state = Math.tanh(weight * state + input)));
  const back = [1];
  for (let step = states.length - 1; step > 0; step -= 1) back.unshift(back[0] * weight * (1 - states[step] ** 2));
  const element = drawing("A recurrent unit forward over eight steps, and its gradient back through time");
  const x = (step) => 22 + 34 * step;
  return { element, frames: 2 * states.length, show(frame) {
    const forward = Math.min(frame, states.length - 1);
    const from = frame < states.length ? states.length : 2 * states.length - 1 - frame;
    fill(element, states.map((value, step) => [
      step > 0 && svg("line", { x1: x(step - 1) + 12, x2: x(step) - 12, y1: 36, y2: 36, stroke: "var(--strong-line)", "stroke-width": 1.5 }),
      svg("circle", { cx: x(step), cy: 36, r: 12, stroke: "var(--strong-line)", fill: step <= forward ? diverging(value) : "none" }),
      step >= from && [svg("rect", { x: x(step) - 7, y: 94 - 34 * Math.min(1, back[step]), width: 14, height: 34 * Math.min(1, back[step]), fill: positive() }), words(back[step].toFixed(2), x(step), 108, { "text-anchor": "middle", "font-size": 10 })],
    ]), words(frame < states.length ? "states" : "gradient of the last state", 8, 14));
  } };
}

// (a b + c)² forward, then back.
export async function graph() {
  const [a, b, c] = [2, -3, 10];
  const [product, sum] = [a * b, a * b + c];
  const nodes = [["a", 30, 22, a, 2 * sum * b], ["b", 30, 90, b, 2 * sum * a], ["a·b", 110, 40, product, 2 * sum], ["c", 110, 96, c, 2 * sum], ["+", 180, 56, sum, 2 * sum], ["²", 250, 56, sum ** 2, 1]];
  const edges = [[0, 2], [1, 2], [2, 4], [3, 4], [4, 5]];
  const order = [[0, 1, 3], [2], [4], [5]];
  const element = drawing("The graph of (a b + c)², values forward and gradients back");
  return { element, frames: 16, show(frame) {
    const forward = new Set(order.slice(0, Math.floor(frame / 2) + 1).flat());
    const backward = new Set(frame < 8 ? [] : order.slice(4 - (Math.floor((frame - 8) / 2) + 1)).flat());
    fill(element, edges.map(([from, to]) => svg("line", { x1: nodes[from][1], y1: nodes[from][2], x2: nodes[to][1], y2: nodes[to][2], stroke: "var(--strong-line)", "stroke-width": backward.has(from) ? 2.5 : 1.2 })),
      nodes.map(([name, x, y, value, slope], at) => [
        svg("circle", { cx: x, cy: y, r: 13, fill: "var(--raised)", stroke: backward.has(at) ? "var(--no)" : forward.has(at) ? "var(--link)" : "var(--strong-line)", "stroke-width": 2 }),
        words(name, x, y + 4, { "text-anchor": "middle", fill: "var(--ink)" }),
        forward.has(at) && words(String(value), x + 16, y - 6, { fill: "var(--link)" }),
        backward.has(at) && words(String(slope), x + 16, y + 14, { fill: "var(--no)" }),
      ]));
  } };
}
