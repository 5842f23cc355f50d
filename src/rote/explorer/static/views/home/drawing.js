// Small drawings for the first view, all of one size.
import { svg } from "../../lib/dom.js";

export const [WIDE, HIGH] = [280, 112];

export function drawing(label) {
  return svg("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${WIDE} ${HIGH}`, width: WIDE, height: HIGH });
}

export function words(text, x, y, attributes) {
  return svg("text", { x, y, "font-size": 11, fill: "var(--muted)", "font-family": "var(--sans)", ...attributes }, text);
}

export const typed = (text, x, y, attributes) => words(text, x, y, { "font-family": "var(--mono)", "font-size": 13, fill: "var(--ink)", "xml:space": "preserve", ...attributes });

export function bar(x, y, width, height, fill) {
  return svg("rect", { x, y, width: Math.max(0, width), height, rx: 1.5, fill });
}

// Some values from left to right, as far as the frame has come.
export function line(values, frame, [low, high], color, dash = "") {
  const x = (at) => 8 + ((WIDE - 16) * at) / Math.max(1, values.length - 1);
  const y = (value) => HIGH - 16 - ((HIGH - 36) * (value - low)) / (high - low || 1);
  const points = values.slice(0, frame + 1).map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  return svg("polyline", { points: points.join(" "), fill: "none", stroke: color, "stroke-width": 1.8, "stroke-dasharray": dash });
}
