// A heat map on a canvas, one pixel per number, with a cursor for pointer and arrow keys and a line that reads it out.
//
//   const map = heat({ label: "Activity", read: (row, column) => "text", onpick: (row, column) => {} });
//   map.set({ rows, columns, value: (row, column) => -1..1 or null, signed }); map.cursor(row, column);
//   map.set({ ..., written: [{ row, column, wide, text }] });    numbers on the map, each over so many columns
import { cellCursor } from "./cells.js";
import { divergingRgb, inkOn, onTheme, sequentialRgb, theme } from "./color.js";
import { fill, h } from "./dom.js";

const STRENGTH = { light: 0.8, dark: 0.6 }; // of the color scale: calmer than all of it

const calm = (t, signed) => (signed ? divergingRgb : sequentialRgb)(STRENGTH[theme()] * t);

// colors(t, signed) -> [red, green, blue] of a value in -1..1
export function heat({ label, hint = "", read, onpick = () => {}, cell = 0, axis: side = "top", colors = calm }) {
  const canvas = h("canvas", { width: 1, height: 1 });
  const writing = h("div", { class: "heat-writing", "aria-hidden": "true" });
  const cursor = h("div", { class: "heat-cursor", "aria-hidden": "true", hidden: true });
  const frame = h("div", { class: "heat-frame", tabindex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": label }, canvas, writing, cursor);
  const readout = h("p", { class: "heat-readout", role: "status" }, hint);
  const axis = h("div", { class: "heat-axis", "aria-hidden": "true" });
  const element = h("div", { class: "heat" }, side === "top" && axis, frame, side === "bottom" && axis, readout);
  let shown = { rows: 0, columns: 0, value: () => null, signed: false };

  function draw() {
    const { rows, columns, value, signed } = shown;
    if (!rows || !columns) return;
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const steps = 256; // colors are looked up: a map has many numbers
    const table = Array.from({ length: 2 * steps + 1 }, (_, index) => colors((index - steps) / steps, signed));
    for (let row = 0, place = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1, place += 4) {
        const number = value(row, column);
        if (number === null) continue; // nothing can be there: the paper shows
        const [red, green, blue] = table[Math.round(Math.max(-1, Math.min(1, number || 0)) * steps) + steps];
        image.data.set([red, green, blue, 255], place);
      }
    }
    context.putImageData(image, 0, 0);
    if (cell) element.style.setProperty("max-width", `max(16rem, ${columns * cell}px)`);
    const ink = (row, column) => inkOn(`rgb(${colors(value(row, column), signed).join(", ")})`);
    fill(writing, (shown.written || []).map(({ row, column, wide, text }) => h("span", { style: {
      left: `${(100 * column) / columns}%`, top: `${(100 * row) / rows}%`, width: `${(100 * wide) / columns}%`, height: `${100 / rows}%`, color: ink(row, column),
    } }, text)));
    axis.replaceChildren(...(shown.labels || []).map((text) => h("span", {}, text)));
    frame.style.setProperty("aspect-ratio", shown.aspect || "auto");
  }

  function mark(at) {
    cursor.hidden = !at;
    if (!at) return;
    const { rows, columns } = shown;
    const box = { left: at[1] / columns, top: at[0] / rows, width: 1 / columns, height: 1 / rows };
    for (const [edge, share] of Object.entries(box)) cursor.style.setProperty(edge, `${100 * share}%`);
  }

  const cells = cellCursor(frame, {
    size: () => [shown.rows, shown.columns],
    find: (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientY - box.top) / box.height) * shown.rows, ((event.clientX - box.left) / box.width) * shown.columns].map(Math.floor);
    },
    show: (at) => {
      mark(at);
      readout.textContent = at ? read(...at) : hint;
    },
    pick: (at) => onpick(...at),
  });
  const end = onTheme(draw);

  return {
    element,
    frame,
    set(changes) {
      shown = { ...shown, ...changes };
      cells.move(null);
      draw();
    },
    cursor: (row, column) => mark(cells.put([row, column])), // read out when it moves
    // Every number as a block of pixels, so that it stays one however the picture is drawn.
    picture(wide = 900) {
      const large = h("canvas", {});
      const [across, down] = [Math.max(1, Math.round(wide / canvas.width)), Math.max(1, Math.round(wide / 2 / canvas.height))];
      [large.width, large.height] = [canvas.width * across, canvas.height * down];
      const pen = large.getContext("2d");
      pen.imageSmoothingEnabled = false;
      pen.drawImage(canvas, 0, 0, large.width, large.height);
      return large.toDataURL("image/png");
    },
    destroy: end,
  };
}
