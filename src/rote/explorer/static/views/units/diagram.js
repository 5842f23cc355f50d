// A recurrent unit drawn from its own step: an operation in each box, with its value in one unit at one character.
import { number, svg } from "../../lib/dom.js";
import { shade } from "../../lib/shades.js";

const [WIDE, HIGH, ACROSS, DOWN] = [106, 42, 132, 54];
const SIGNS = {
  sigmoid: "σ", tanh: "tanh", relu: "relu", function: "f", product: "×", sum: "+", difference: "−", complement: "1 −",
  negative: "−", joined: "[ ]", maximum: "max", weighted: "Σ",
};
// "cell_1", of the memory inside the memory: its number as an index.
const spelled = (name) => name.replace(/_(\d+)$/, (_, level) => [...level].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("")).replace(/_/g, " ");

// The column of a box: after all of its inputs; its row: near them.
function places(nodes, outputs) {
  const column = [];
  nodes.forEach((node, at) => (column[at] = node.inputs.length ? 1 + Math.max(...node.inputs.map((one) => column[one])) : 0));
  const last = 1 + Math.max(...column);
  const ends = Object.entries(outputs).map(([name, node]) => ({ name, node }));
  const columns = Array.from({ length: last + 1 }, () => []);
  nodes.forEach((_, at) => columns[column[at]].push(at));
  const rows = [];
  const most = Math.max(...columns.map((one) => one.length), ends.length);
  for (const members of columns) {
    const near = (at) => (nodes[at].inputs.length ? nodes[at].inputs.reduce((sum, one) => sum + rows[one], 0) / nodes[at].inputs.length : at);
    [...members].sort((one, other) => near(one) - near(other) || one - other).forEach((at, index) => {
      rows[at] = index + (most - members.length) / 2;
    });
  }
  const at = nodes.map((_, node) => [column[node] * ACROSS, rows[node] * DOWN]);
  return { at, ends: ends.map((end, index) => ({ ...end, at: [last * ACROSS, (index + (most - ends.length) / 2) * DOWN] })), size: [last * ACROSS + WIDE, most * DOWN] };
}

export function describe(node, nodes) {
  const names = node.inputs.map((one) => nodes[one].name ? spelled(nodes[one].name) : SIGNS[nodes[one].kind]);
  if (node.kind === "input") return "x, the input of the layer";
  if (node.kind === "state") return `${spelled(node.name)}, before this character`;
  const given = node.weights ? `a weighted sum of ${names.join(" and ")}` : names.join(node.kind === "product" ? " × " : ", ");
  const what = node.kind === "weighted" || node.kind === "product" ? given : `${SIGNS[node.kind]} of ${given}`;
  return node.name ? `${spelled(node.name)}: ${what}` : what;
}

// value(node): of the chosen unit at the chosen character; range(node): the largest along the text; symbol: what is read.
export function unitDiagram({ nodes, outputs, value, range, symbol, label }) {
  const { at, ends, size } = places(nodes, outputs);
  const edge = (from, to, weights) => {
    const [x1, y1, x2, y2] = [from[0] + WIDE, from[1] + HIGH / 2, to[0], to[1] + HIGH / 2];
    const bend = Math.max(24, (x2 - x1) / 2);
    return svg("path", { class: weights ? "edge weighted" : "edge", d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  };
  const box = ([x, y], kind, title, shown, color, told) => svg("g", { class: `node ${kind}`, transform: `translate(${x} ${y})` },
    svg("title", {}, told),
    svg("rect", { width: WIDE, height: HIGH, rx: kind === "state" || kind === "input" ? 3 : 12, style: { fill: color[0] === "transparent" ? "var(--raised)" : color[0] } }),
    svg("text", { class: "node-name", x: WIDE / 2, y: 16, "text-anchor": "middle", style: { fill: color[1] === "inherit" ? "var(--ink)" : color[1] } }, title),
    svg("text", { class: "node-value", x: WIDE / 2, y: 33, "text-anchor": "middle", style: { fill: color[1] === "inherit" ? "var(--muted)" : color[1] } }, shown));
  const colored = (node) => shade(value(node) / (range(node) || 1), true);
  const parts = nodes.map((node, number_) => {
    const title = node.kind === "input" ? "x" : node.kind === "state" ? spelled(node.name) : node.name ? `${SIGNS[node.kind]} ${spelled(node.name)}` : SIGNS[node.kind];
    const shown = node.kind === "input" ? (symbol === " " ? "space" : symbol) : number(value(number_));
    return box(at[number_], node.kind, title, shown, node.kind === "input" ? ["transparent", "inherit"] : colored(number_), describe(node, nodes));
  });
  const edges = nodes.flatMap((node, to) => node.inputs.map((from) => edge(at[from], at[to], node.weights)));
  const finals = ends.map((end) => box(end.at, "state", spelled(end.name), number(value(end.node)), colored(end.node), `${spelled(end.name)}, after this character`));
  const leads = ends.map((end) => edge(at[end.node], end.at, false));
  return svg("svg", { class: "unit-diagram", role: "img", "aria-label": label, width: size[0] + 8, height: size[1] + 8, viewBox: `-4 -4 ${size[0] + 8} ${size[1] + 8}` }, edges, leads, parts, finals);
}
