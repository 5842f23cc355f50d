// A recurrent network drawn out over a text: a box for every layer and character, arrows from below and from before.
import { svg } from "../../lib/dom.js";

const [WIDE, HIGH, BOX, LEFT, TOP] = [38, 52, 28, 64, 26];

// Brings the chosen column of a drawing that is wider than its place into sight.
export function show(drawing, chosen) {
  const [left, right] = [LEFT + chosen * WIDE - WIDE, LEFT + (chosen + 2) * WIDE];
  if (right > drawing.scrollLeft + drawing.clientWidth) drawing.scrollLeft = right - drawing.clientWidth;
  else if (left < drawing.scrollLeft) drawing.scrollLeft = left;
}

// symbols; layers; colors(layer, step) -> [background, ink]; note(layer, step): what a box says when it is pointed at;
// active(layer, step): whether the arrows into it are drawn strongly; chosen: a step; said(step): what stands above;
// pick(step, layer): somebody points at a box.
export function unrolled({ symbols, layers, colors, note, active, chosen, said, pick, label }) {
  const [width, height] = [LEFT + symbols.length * WIDE + 10, TOP + layers * HIGH + 28];
  const x = (step) => LEFT + step * WIDE;
  const y = (layer) => TOP + (layers - 1 - layer) * HIGH;
  const arrow = (from, to, strong) => svg("line", { class: strong ? "arrow strong" : "arrow", x1: from[0], y1: from[1], x2: to[0], y2: to[1], "marker-end": "url(#arrow-end)" });
  const parts = [];
  symbols.forEach((symbol, step) => {
    parts.push(svg("text", { class: step === chosen ? "letter chosen" : "letter", x: x(step) + BOX / 2, y: TOP + layers * HIGH + 18, "text-anchor": "middle" }, symbol === " " ? "␣" : symbol));
    if (said && said(step)) parts.push(svg("text", { class: "said", x: x(step) + BOX / 2, y: TOP - 10, "text-anchor": step > symbols.length - 4 ? "end" : "middle" }, said(step)));
    for (let layer = 0; layer < layers; layer += 1) {
      const strong = active(layer, step);
      parts.push(arrow([x(step) + BOX / 2, layer ? y(layer - 1) : TOP + layers * HIGH + 2], [x(step) + BOX / 2, y(layer) + BOX + 4], strong));
      if (step) parts.push(arrow([x(step - 1) + BOX, y(layer) + BOX / 2], [x(step) - 4, y(layer) + BOX / 2], strong));
    }
  });
  symbols.forEach((_, step) => {
    for (let layer = 0; layer < layers; layer += 1) {
      const [color] = colors(layer, step) || ["transparent"];
      const box = svg("rect", { class: step === chosen ? "box chosen" : "box", x: x(step), y: y(layer), width: BOX, height: BOX, rx: 4, "data-step": step, "data-layer": layer, style: { fill: color === "transparent" ? "var(--raised)" : color } },
        svg("title", {}, note(layer, step)));
      for (const kind of ["pointerover", "click"]) box.addEventListener(kind, () => pick(step, layer));
      parts.push(box);
    }
  });
  for (let layer = 0; layer < layers; layer += 1) parts.push(svg("text", { class: "row-name", x: 0, y: y(layer) + BOX / 2 + 4 }, `layer ${layer + 1}`));
  parts.push(svg("text", { class: "row-name", x: 0, y: TOP + layers * HIGH + 18 }, "input"));
  const end = svg("marker", { id: "arrow-end", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { class: "arrow-end", d: "M0 0 L6 3 L0 6 z" }));
  return svg("svg", { class: "unrolled", role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` }, svg("defs", {}, end), parts);
}
