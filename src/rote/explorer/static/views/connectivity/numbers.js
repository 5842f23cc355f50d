// The numbers of the chosen character as a table, one column per model.
import { h, number } from "../../lib/dom.js";
import { named } from "../../lib/glyphs.js";

// rows: those that have an answer; titled(row): the model that it is of; along: "row" or "column".
export function numbersTable(rows, titled, along, placeIn) {
  const { symbols } = rows[0].answer;
  const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, along === "row" ? "input" : "output"), rows.map((row) => h("th", { scope: "col", class: "number" }, titled(row)))));
  const body = h("tbody", {}, symbols.map((symbol, place) => h("tr", {}, h("th", { scope: "row" }, `${place + 1} ${named(symbol)}`), rows.map((row) => h("td", { class: "number" }, row.answer.symbols[place] === symbol && row.matrix.reaches(placeIn(row), place, along) ? number(row.values[place]) : "–")))));
  return h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Numbers of the chosen character" }, h("table", { class: "data" }, head, body));
}
