// The full matrices of connectivity, one picture per model: outputs down, inputs across.
import { fill, h, number, svg } from "./dom.js";
import { named } from "./glyphs.js";
import { heat } from "./heat.js";
import { shadeRgb } from "./shades.js";

const SIDE = 400; // of a matrix in a picture

// place(row): the chosen output of a row; press(output): choose another. A row has its answer and matrix.
export function matrixPanel({ place, press }) {
  const element = h("div", { class: "matrices answers", hidden: true });
  let maps = [];

  function clear() {
    maps.forEach((map) => map.destroy());
    maps = [];
  }

  // The number that the darkest color stands for, at each output.
  function largest(row, scale, most) {
    return Array.from(row.answer.symbols, (_, output) => {
      if (scale !== "position") return (scale === "all" ? most : row.matrix.most(false)) || 1;
      return row.matrix.series(output, "row", false).reduce((found, value) => Math.max(found, Math.abs(value)), 0) || 1;
    });
  }

  function drawn(row, scale, title, signed, most) {
    const { symbols, asked, causal } = row.answer;
    const darkest = largest(row, scale, most);
    const none = (output, input) => causal && input > output;
    const map = heat({
      label: `Connectivity matrix of ${title}: ${symbols.length} outputs down, ${symbols.length} inputs across`,
      hint: "Outputs down, inputs across. Point, or use the arrow keys.",
      read: (output, input) => `output ${output + 1} “${named(symbols[output])}” of ${named(asked[output])}, input ${input + 1} “${named(symbols[input])}”: ${none(output, input) ? "none" : number(row.matrix.at(output, input))}`,
      onpick: (output) => press(output),
      colors: shadeRgb, // those of the text and of the bar above it
    });
    map.set({
      rows: symbols.length, columns: symbols.length, signed, aspect: "1 / 1",
      value: (output, input) => (none(output, input) ? null : row.matrix.at(output, input) / darkest[output]),
    });
    map.row = row;
    map.title = title;
    maps.push(map);
    return h("figure", { class: "matrix" }, h("figcaption", {}, title), map.element);
  }

  function mark() {
    for (const map of maps) if (map.row.answer) map.cursor(place(map.row), place(map.row));
  }

  return {
    element,
    mark,
    // scale: "position", "model" or "all", as in the rows; titled(row), signed(row): what its matrix is of
    draw(rows, scale, titled, signed) {
      clear();
      element.hidden = !rows.length;
      const most = Math.max(0, ...rows.map((row) => row.matrix.most(false)));
      fill(element, rows.map((row) => drawn(row, scale, titled(row), signed(row), most)));
      mark();
    },
    picture() {
      const across = SIDE + 24;
      const parts = maps.flatMap((map, index) => [
        svg("text", { x: index * across, y: 18, "font-size": 14, fill: "var(--ink)" }, map.title),
        svg("image", { x: index * across, y: 28, width: SIDE, height: SIDE, href: map.picture(), preserveAspectRatio: "none" }),
      ]);
      const size = { width: Math.max(1, maps.length * across), height: SIDE + 36 };
      return svg("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": "Helvetica, Arial, sans-serif" }, parts);
    },
    destroy: clear,
  };
}
