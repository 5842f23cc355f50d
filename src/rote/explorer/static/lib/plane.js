// The plane of the playground as pictures: a field of probabilities, its boundary, training points, a network.
import { negative, positive, theme } from "./color.js";

const SURE = 0.86; // as in the figures of the report: nothing at 0.5, so that the paper shows through
const INK = { light: "#1c2127", dark: "#e8ebee" };
const PAPER = { light: "#ffffff", dark: "#171b21" };
const MUTED = { light: "#5b646e", dark: "#a3adb8" };

// A field has, for a probability p of class 1, 127.5 (1 + s sqrt|2p - 1|), s the sign of 2p - 1: fine near one half.
export function probability(value) {
  const root = value / 127.5 - 1;
  return (1 + root * Math.abs(root)) / 2;
}

export function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

// The shade of each of the 256 values, on the paper of the moment; ``power``: 2 where a value is a root.
const shades = {};
function shadesNow(power) {
  const name = theme();
  const key = `${name} ${power}`;
  if (shades[key]) return shades[key];
  const paper = channels(PAPER[name]);
  const [blue, orange] = [channels(positive()), channels(negative())];
  const made = (shades[key] = new Uint8ClampedArray(256 * 4));
  for (let value = 0; value < 256; value += 1) {
    const alpha = SURE * Math.abs(value / 127.5 - 1) ** (0.75 * power);
    const hue = value > 127.5 ? blue : orange;
    for (let at = 0; at < 3; at += 1) made[value * 4 + at] = paper[at] + (hue[at] - paper[at]) * alpha;
    made[value * 4 + 3] = 255;
  }
  return made;
}

const small = {};
// A field [X1, X2], lowest first, of values in 0..255, as a small canvas with X2 upward.
function picture(values, side, power) {
  const canvas = (small[side] ??= Object.assign(document.createElement("canvas"), { width: side, height: side }));
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(side, side);
  const palette = shadesNow(power);
  for (let x1 = 0; x1 < side; x1 += 1) {
    for (let x2 = 0; x2 < side; x2 += 1) {
      const from = values[x1 * side + x2] * 4;
      image.data.set(palette.subarray(from, from + 4), ((side - 1 - x2) * side + x1) * 4);
    }
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

function drawField(pen, values, side, left, top, size, power) {
  pen.imageSmoothingEnabled = true;
  pen.drawImage(picture(values, side, power), left, top, size, size);
}

const CORNERS = [[0, 0], [1, 0], [1, 1], [0, 1]]; // of a cell

// Where a field crosses one half, as line segments [[x1, x2, x1, x2], ...] in -1..1 (marching squares).
export function boundary(values, side) {
  const odds = Float32Array.from(values, (value) => probability(value) - 0.5);
  const place = (index) => ((index + 0.5) / side) * 2 - 1;
  const found = [];
  for (let i = 0; i + 1 < side; i += 1) {
    for (let j = 0; j + 1 < side; j += 1) {
      const at = i * side + j;
      const corner = [odds[at], odds[at + side], odds[at + side + 1], odds[at + 1]];
      const above = (corner[0] > 0) + (corner[1] > 0) + (corner[2] > 0) + (corner[3] > 0);
      if (above === 0 || above === 4) continue;
      const cuts = [];
      for (let edge = 0; edge < 4; edge += 1) {
        const [from, to] = [corner[edge], corner[(edge + 1) % 4]];
        if (from > 0 === to > 0) continue;
        const share = from / (from - to);
        const [a, b] = [CORNERS[edge], CORNERS[(edge + 1) % 4]];
        cuts.push([place(i + a[0] + (b[0] - a[0]) * share), place(j + a[1] + (b[1] - a[1]) * share)]);
      }
      for (let cut = 0; cut + 1 < cuts.length; cut += 2) found.push([...cuts[cut], ...cuts[cut + 1]]);
    }
  }
  return found;
}

// A canvas in sharp pixels: returns its pen, in units of the page. Keeps a canvas that has its size already.
function penOf(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

const QUADRANTS = { "00": [0, 1], "01": [0, 0], 10: [1, 1], 11: [1, 0] }; // column and row, X2 upward

// One network's panel: field, boundary, the line X1 = 0, quadrants that training does not show, its points.
export function drawPanel(canvas, size, { field, side, points, shown }) {
  const pen = penOf(canvas, size, size);
  const x = (value) => ((value + 1) / 2) * size;
  const y = (value) => ((1 - value) / 2) * size;
  pen.clearRect(0, 0, size, size);
  pen.lineCap = "round"; // of every line, else the dashes of the first drawing are others than those of the next
  if (field) drawField(pen, field, side, 0, 0, size, 2);
  pen.strokeStyle = MUTED[theme()];
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.moveTo(size / 2, 0);
  pen.lineTo(size / 2, size);
  pen.stroke();
  pen.setLineDash([]);
  if (points) drawPoints(pen, points, x, y, size < 130 ? 1.6 : 2.3);
  pen.strokeStyle = INK[theme()];
  for (const [name, [column, row]] of Object.entries(QUADRANTS)) {
    if (shown.includes(name)) continue;
    pen.lineWidth = 1.25;
    pen.globalAlpha = 0.8;
    pen.strokeRect((column * size) / 2 + 1.5, (row * size) / 2 + 1.5, size / 2 - 3, size / 2 - 3);
    pen.globalAlpha = 1;
  }
  if (!field) return;
  pen.lineWidth = 1.75;
  pen.beginPath();
  for (const [x1, x2, to1, to2] of boundary(field, side)) {
    pen.moveTo(x(x1), y(x2));
    pen.lineTo(x(to1), y(to2));
  }
  pen.stroke();
}

// All points of a class as one path: a path each would take longer than everything else.
function drawPoints(pen, points, x, y, radius) {
  pen.lineWidth = 0.75;
  pen.strokeStyle = PAPER[theme()];
  for (const label of [0, 1]) {
    pen.fillStyle = label ? positive() : negative();
    pen.beginPath();
    points.x.forEach(([x1, x2], index) => {
      if (points.y[index] !== label || Math.abs(x1) > 1 || Math.abs(x2) > 1) return;
      pen.moveTo(x(x1) + radius, y(x2));
      pen.arc(x(x1), y(x2), radius, 0, 2 * Math.PI);
    });
    pen.fill();
    pen.stroke();
  }
}

// Where the nodes of a network lie: columns of inputs, hidden layers and classes.
export function layout(sizes, width, height, node) {
  const gap = sizes.length > 1 ? (width - node) / (sizes.length - 1) : 0;
  return sizes.map((count, column) => {
    const pitch = Math.min(node + 8, (height - node) / Math.max(1, count - 1) || node + 8);
    const top = (height - pitch * (count - 1) - node) / 2;
    const edge = Math.min(node, Math.max(6, pitch - 3));
    return Array.from({ length: count }, (_, row) => ({ x: column * gap + (node - edge) / 2, y: top + row * pitch + (node - edge) / 2, size: edge }));
  });
}

// Links as wide as their weights, blue or orange by sign; in each unit what it computes over the plane.
export function drawNetwork(canvas, width, height, network, nodes, side) {
  const pen = penOf(canvas, width, height);
  pen.clearRect(0, 0, width, height);
  const largest = Math.max(1, ...network.weights.flat(2).map((weight) => Math.abs(weight ?? 0)));
  network.weights.forEach((rows, layer) => rows.forEach((row, from) => row.forEach((weight, to) => {
    if (!weight) return;
    const [a, b] = [nodes[layer][from], nodes[layer + 1][to]];
    const [ax, ay, bx, by] = [a.x + a.size, a.y + a.size / 2, b.x, b.y + b.size / 2];
    const middle = (ax + bx) / 2;
    pen.strokeStyle = weight > 0 ? positive() : negative();
    pen.globalAlpha = 0.2 + 0.7 * Math.min(1, Math.abs(weight) / largest);
    pen.lineWidth = 0.4 + 4 * Math.min(1, Math.abs(weight) / largest);
    pen.beginPath();
    pen.moveTo(ax, ay);
    pen.bezierCurveTo(middle, ay, middle, by, bx, by);
    pen.stroke();
  })));
  pen.globalAlpha = 1;
  const fields = nodeFields(network, side);
  nodes.forEach((column, layer) => column.forEach((node, place) => {
    drawField(pen, fields[layer][place], side, node.x, node.y, node.size, layer === nodes.length - 1 ? 2 : 1);
    pen.strokeStyle = MUTED[theme()];
    pen.lineWidth = 1;
    pen.strokeRect(node.x + 0.5, node.y + 0.5, node.size - 1, node.size - 1);
  }));
}

// Inputs show themselves, units what they compute, the two classes their side of the output.
function nodeFields(network, side) {
  const even = (pick) => Uint8Array.from({ length: side * side }, (_, at) => Math.round(((pick(at) + 0.5) / side) * 255));
  const units = bytes(network.units);
  const fields = [[even((at) => Math.floor(at / side)), even((at) => at % side)]];
  let next = 0;
  for (const bias of network.biases.slice(0, -1)) {
    fields.push(bias.map(() => units.subarray(next * side * side, (next += 1) * side * side)));
  }
  fields.push([network.output.map((value) => 255 - value), network.output]);
  return fields;
}
