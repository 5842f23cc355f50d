// A small heat map with its rows and columns named, as a drawing that can be exported.
//
//   const map = labelledHeat({ label: "Attention of the baseline", read: (row, column) => "..." });
//   root.append(map.element); map.update({ values, rows, columns, color, marks, outlined, written }); map.svg();
//
// values: [row][column]; color(value) -> [red, green, blue]; marks: columns to point at; outlined: [[row, column], ...];
// written: whether the numbers stand in the cells.
import { cellCursor } from "./cells.js";
import { inkOn, onTheme } from "./color.js";
import { h, svg } from "./dom.js";

const SIZE = 11;
const HINT = "Point at a cell, or use the arrow keys.";

export function labelledHeat({ label, read }) {
  let shown = { values: [], rows: [], columns: [], color: () => [0, 0, 0], marks: [], outlined: [], written: false, height: 26 };
  let drawn = null;
  const readout = h("p", { class: "map-readout", "aria-live": "polite" }, HINT);
  const plot = h("div", { class: "map-plot", tabindex: "0", role: "group", "aria-roledescription": "heat map", "aria-label": label });
  const element = h("div", { class: "map" }, plot, readout);
  const place = () => {
    const left = 14 + 7 * Math.max(0, ...shown.rows.map((name) => name.length));
    const wide = Math.max(160, plot.clientWidth || 480);
    const most = shown.written ? 92 : Infinity;
    const cell = Math.min(most, (wide - left - 2) / Math.max(1, shown.columns.length));
    return { left, top: shown.columns.some(Boolean) ? 20 : 4, cell, height: shown.height };
  };

  // All cells as one picture: thousands of rectangles would be slow.
  function picture() {
    const [rows, columns] = [shown.values.length, shown.columns.length];
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.max(1, columns), height: Math.max(1, rows) });
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(canvas.width, canvas.height);
    shown.values.forEach((row, r) => row.forEach((value, c) => image.data.set([...shown.color(value), 255], (r * columns + c) * 4)));
    pen.putImageData(image, 0, 0);
    return canvas.toDataURL();
  }

  function text(value, attributes) {
    return svg("text", { "font-size": SIZE, "font-family": "var(--sans)", fill: "var(--muted)", ...attributes }, value);
  }

  function draw() {
    const at = place();
    const [rows, columns] = [shown.rows.length, shown.columns.length];
    const [width, bottom] = [at.left + at.cell * columns + 2, at.top + at.height * rows];
    const parts = [svg("image", { x: at.left, y: at.top, width: at.cell * columns, height: at.height * rows, href: picture(), preserveAspectRatio: "none", "image-rendering": "pixelated" })];
    shown.rows.forEach((name, row) => parts.push(text(name, { x: at.left - 8, y: at.top + at.height * (row + 0.5) + 4, "text-anchor": "end", fill: "var(--ink)" })));
    shown.columns.forEach((name, column) => name && parts.push(text(name, { x: at.left + at.cell * (column + 0.5), y: 13, "text-anchor": "middle" })));
    for (const [row, column] of shown.outlined) parts.push(svg("rect", { x: at.left + at.cell * column + 1, y: at.top + at.height * row + 1, width: at.cell - 2, height: at.height - 2, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, "stroke-dasharray": "3 2" }));
    for (let row = 1; row < rows; row += 1) parts.push(svg("line", { x1: at.left, x2: at.left + at.cell * columns, y1: at.top + at.height * row, y2: at.top + at.height * row, stroke: "var(--raised)", "stroke-width": 1 }));
    for (const column of shown.marks) {
      const x = at.left + at.cell * (column + 0.5);
      parts.push(svg("path", { d: `M${x} ${bottom + 2}l4 7h-8z`, fill: "var(--ink)" }));
    }
    if (shown.written) shown.values.forEach((row, r) => row.forEach((value, c) => {
      const [red, green, blue] = shown.color(value);
      parts.push(text(value.toFixed(2), { x: at.left + at.cell * (c + 0.5), y: at.top + at.height * (r + 0.5) + 4, "text-anchor": "middle", fill: inkOn(`rgb(${red}, ${green}, ${blue})`) }));
    }));
    const height = bottom + (shown.marks.length ? 12 : 2);
    drawn = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}: ${rows} rows by ${columns} columns` },
      svg("rect", { x: at.left - 0.5, y: at.top - 0.5, width: at.cell * columns + 1, height: at.height * rows + 1, fill: "none", stroke: "var(--line)" }), parts, svg("g", { class: "map-cursor" }));
    plot.replaceChildren(drawn);
    cells.move(cells.at());
  }

  function show(cell) {
    const [row, column] = cell ?? [];
    const at = place();
    drawn.querySelector(".map-cursor").replaceChildren(
      ...(cell ? [svg("rect", { x: at.left + at.cell * column, y: at.top + at.height * row, width: Math.max(2, at.cell), height: at.height, fill: "none", stroke: "var(--focus)", "stroke-width": 2 })] : []),
    );
    readout.textContent = cell ? read(row, column) : HINT;
  }

  const cells = cellCursor(plot, {
    size: () => [shown.rows.length, shown.columns.length],
    find: (event) => {
      const box = plot.getBoundingClientRect();
      const at = place();
      return [(event.clientY - box.top - at.top) / at.height, (event.clientX - box.left - at.left) / at.cell].map(Math.floor);
    },
    show,
  });
  const resized = new ResizeObserver(() => draw());
  resized.observe(plot);
  const ends = [() => resized.disconnect(), onTheme(() => draw())];
  draw();
  return {
    element,
    update(changes) {
      shown = { ...shown, ...changes };
      draw();
    },
    svg: () => drawn,
    destroy: () => ends.forEach((end) => end()),
  };
}
