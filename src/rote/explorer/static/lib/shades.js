// Colors of values behind text: from paper to a blue (or an orange, below 0) on which the ink still reads well.
import { diverging, divergingRgb, inkOn, onTheme, sequential, sequentialRgb } from "./color.js";
import { h, svg } from "./dom.js";

const STEPS = 64;
const STRONGEST = 0.62; // of the color scale
let tables = null;
onTheme(() => (tables = null));

const bent = (t) => Math.sign(t) * Math.abs(t) ** 0.8 * STRONGEST; // so that a little still shows

// The same for pictures drawn pixel by pixel, so that one color bar holds for both.
export const shadeRgb = (t, signed) => (signed ? divergingRgb(bent(t)) : sequentialRgb(Math.max(0, bent(t))));

function table(signed) {
  tables ??= {};
  const key = signed ? "signed" : "plain";
  tables[key] ??= Array.from({ length: 2 * STEPS + 1 }, (_, index) => {
    const t = (index - STEPS) / STEPS;
    const color = signed ? diverging(bent(t)) : sequential(Math.max(0, bent(t)));
    return Math.abs(t) < 0.5 / STEPS ? ["transparent", "inherit"] : [color, inkOn(color)];
  });
  return tables[key];
}

// [background, ink] of a value in -1..1.
export function shade(t, signed) {
  const inside = Number.isFinite(t) ? Math.max(-1, Math.min(1, t)) : 0;
  return table(signed)[Math.round(inside * STEPS) + STEPS];
}

// A color bar with its ends named; update() with other ends.
export function colorBar() {
  const bar = h("canvas", { class: "bar-colors", width: 128, height: 1, "aria-hidden": "true" });
  const low = h("span", {});
  const high = h("span", {});
  const what = h("span", { class: "bar-what" });
  const element = h("p", { class: "color-bar" }, low, bar, high, what);
  return {
    element,
    update({ signed, low: from, high: to, measure }) {
      const context = bar.getContext("2d");
      for (let at = 0; at < 128; at += 1) {
        context.fillStyle = shade(signed ? (2 * at) / 127 - 1 : at / 127, signed)[0];
        context.fillRect(at, 0, 1, 1);
      }
      low.textContent = from;
      high.textContent = to;
      what.textContent = measure;
    },
  };
}

// The color bar in a picture: ends and what is measured beside it.
function pictureBar(y, { low, high, measure, signed }) {
  const cells = Array.from({ length: 32 }, (_, at) => {
    const [color] = shade(signed ? (2 * at) / 31 - 1 : at / 31, signed);
    return svg("rect", { x: 40 + 4 * at, y: y - 10, width: 4, height: 12, fill: color === "transparent" ? "var(--raised)" : color });
  });
  const label = (x, text, anchor) => svg("text", { x, y, "font-size": 12, "text-anchor": anchor, fill: "var(--muted)" }, text);
  return [label(34, low, "end"), cells, label(174, `${high}   ${measure}`, "start")].flat();
}

// Rows of a text as a picture: [{ title, note, symbols, words, colors: at -> [background, ink], marked }].
// bar: { low, high, measure, signed }, what the colors mean.
export function textPicture(rows, { bar = null, columns = 84 } = {}) {
  const [wide, high] = [9, 24];
  const parts = [];
  let top = 24;
  if (bar) {
    parts.push(...pictureBar(top, bar));
    top += 30;
  }
  for (const row of rows) {
    parts.push(svg("text", { x: 0, y: top, "font-weight": 600, "font-size": 14, fill: "var(--ink)" }, row.title));
    parts.push(svg("text", { x: 0, y: top + 20, "font-size": 12, fill: "var(--muted)" }, row.note));
    top += 32;
    for (const { at, symbol, column, line } of places(row.symbols, row.words, columns)) {
      const color = row.colors(at);
      const y = top + line * high;
      const width = wide * symbol.length;
      if (color && color[0] !== "transparent") parts.push(svg("rect", { x: column * wide, y, width, height: high - 3, fill: color[0] }));
      if (at === row.marked) parts.push(svg("rect", { x: column * wide + 0.5, y: y + 0.5, width: width - 1, height: high - 4, fill: "none", stroke: "var(--ink)" }));
      if (symbol.trim()) parts.push(svg("text", { x: (column + symbol.length / 2) * wide, y: y + 16, "text-anchor": "middle", "font-family": "monospace", "font-size": 14, fill: !color ? "var(--muted)" : color[1] === "inherit" ? "var(--ink)" : color[1] }, symbol));
      row.bottom = y + high;
    }
    top = (row.bottom || top) + 30;
  }
  const size = { width: columns * wide + 4, height: top };
  return svg("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": "Helvetica, Arial, sans-serif" }, parts);
}

// Line and column of every symbol; a word that does not fit begins a new line.
function places(symbols, words, columns) {
  const letters = symbols.every((symbol) => symbol.length === 1);
  let [line, column] = [0, 0];
  return symbols.map((symbol, at) => {
    if (at === 0 || words[at] !== words[at - 1]) {
      let length = 0;
      for (let next = at; next < symbols.length && words[next] === words[at]; next += 1) length += symbols[next].length;
      if (column && column + length > columns) [line, column] = [line + 1, 0];
    }
    const place = { at, symbol, column, line };
    column += symbol.length + (letters ? 0 : 1);
    return place;
  });
}
