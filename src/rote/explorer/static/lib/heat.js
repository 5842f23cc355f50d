// A heat map on a canvas, one pixel per number, with a cursor for pointer and arrow keys and a line that reads it out.
//
//   const map = heat({ label: "Activity", read: (row, column) => "text", onpick: (row, column) => {} });
//   map.set({ rows, columns, value: (row, column) => -1..1 or null, signed }); map.cursor(row, column);
import { divergingRgb, onTheme, sequentialRgb, theme } from "./color.js";
import { h } from "./dom.js";

const STRENGTH = { light: 0.8, dark: 0.6 }; // of the color scale: calmer than all of it

export function heat({ label, hint = "", read, onpick, onpoint, cell = 0, axis: side = "top" }) {
  const canvas = h("canvas", { width: 1, height: 1 });
  const mark = h("div", { class: "heat-cursor", "aria-hidden": "true", hidden: true });
  const frame = h("div", { class: "heat-frame", tabindex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": label }, canvas, mark);
  const readout = h("p", { class: "heat-readout", role: "status" }, hint);
  const axis = h("div", { class: "heat-axis", "aria-hidden": "true" });
  const element = h("div", { class: "heat" }, side === "top" && axis, frame, side === "bottom" && axis, readout);
  let shown = { rows: 0, columns: 0, value: () => null, signed: false };
  let at = null;

  function draw() {
    const { rows, columns, value, signed } = shown;
    if (!rows || !columns) return;
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const steps = 256; // colors are looked up: a map has many numbers
    const color = signed ? divergingRgb : sequentialRgb;
    const table = Array.from({ length: 2 * steps + 1 }, (_, index) => color((STRENGTH[theme()] * (index - steps)) / steps));
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
    axis.replaceChildren(...(shown.labels || []).map((text) => h("span", {}, text)));
    frame.style.setProperty("aspect-ratio", shown.aspect || "auto");
  }

  function point(row, column, told = true) {
    const { rows, columns } = shown;
    if (!rows || !columns) return;
    at = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    const box = { left: at[1] / columns, top: at[0] / rows, width: 1 / columns, height: 1 / rows };
    for (const [side, share] of Object.entries(box)) mark.style.setProperty(side, `${100 * share}%`);
    mark.hidden = false;
    if (told) readout.textContent = read(at[0], at[1]);
    if (told && onpoint) onpoint(at[0], at[1]);
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    const share = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    if (share.some((value) => value < 0 || value >= 1)) return null;
    return [Math.floor(share[0] * shown.rows), Math.floor(share[1] * shown.columns)];
  }

  frame.addEventListener("pointermove", (event) => {
    const found = place(event);
    if (found) point(...found);
  });
  frame.addEventListener("click", (event) => {
    const found = place(event);
    if (found && onpick) onpick(...found);
  });
  frame.addEventListener("keydown", (event) => {
    const [row, column] = at || [0, 0];
    const to = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      Home: [row, 0], End: [row, shown.columns - 1], PageUp: [row - 10, column], PageDown: [row + 10, column],
    }[event.key];
    if (to && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      point(...to);
    } else if ((event.key === "Enter" || event.key === " ") && at && onpick) {
      event.preventDefault();
      onpick(...at);
    }
  });
  const end = onTheme(draw);

  return {
    element,
    frame,
    set(changes) {
      shown = { ...shown, ...changes };
      at = null;
      mark.hidden = true;
      readout.textContent = hint;
      draw();
    },
    cursor: (row, column) => point(row, column, false),
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
