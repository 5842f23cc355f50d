// One row of the view: a model, the text as it reads it, what it suggests.
import { answering } from "../../lib/answering.js";
import { fill, h } from "../../lib/dom.js";
import { glyphs } from "../../lib/glyphs.js";
import { titleOf } from "../../lib/models.js";
import { modelPicker } from "../../lib/textview.js";

// shelf(): the models; on: what to do when a character is pointed at or pressed, a key comes, another model is chosen,
// or the answer is lost. A row that has an answer has its matrix, and of(): which model it is of, the last chosen or not.
export function rowMaker(context, shelf, on) {
  function drawRow(row) {
    const picker = modelPicker({
      shelf: shelf(), chosen: row.model, label: "Model of this row", onchange: (model) => {
        row.model = model;
        row.text.element.setAttribute("aria-label", `Text as ${row.title()} reads it`);
        row.suggestions.setAttribute("aria-label", `Suggestions of ${row.title()}`);
        row.element.setAttribute("aria-label", row.title());
        on.model(row);
      },
    });
    const button = (sign, name, action) => h("button", { type: "button", class: "small", "aria-label": name, title: name, onclick: action }, sign);
    fill(
      row.element,
      h("header", {}, picker, row.waiting, h("span", { class: "row-tools" },
        button("↑", "Move this row up", () => on.shift(row, -1)), button("↓", "Move this row down", () => on.shift(row, 1)), button("×", "Remove this row", () => on.remove(row)))),
      fill(row.area, h("div", { class: "row-line" }, row.suggestions, row.target), row.text.element, row.notes, row.readout),
    );
  }

  return function makeRow(model) {
    const row = { model, matrix: null, area: h("div", { class: "row-answer" }) };
    row.current = answering(row.area, (signal, body) => context.api.post("/api/connectivity", body, { signal }), () => {
      clear(row);
      on.lost();
    });
    Object.defineProperty(row, "answer", { get: () => (row.current.held ? row.current.held.answer : null) });
    row.title = () => titleOf(row.model, shelf());
    row.of = () => ({ key: row.current.held.question.model, checkpoint: row.current.held.question.checkpoint });
    row.text = glyphs({
      label: `Text as ${row.title()} reads it`,
      onpoint: on.point,
      onpress: on.press,
      onleave: on.leave,
      onkey: (event) => on.key(event, row),
    });
    row.suggestions = h("ol", { class: "suggestions", "aria-label": `Suggestions of ${row.title()}` });
    row.target = h("span", { class: "rank" });
    row.readout = h("span", { class: "row-readout" });
    row.notes = h("p", { class: "row-notes", hidden: true });
    row.waiting = h("span", { class: "row-waiting", hidden: true }, "computing …");
    row.element = h("article", { class: "text-row", "aria-label": row.title() });
    drawRow(row);
    return row;
  };
}

function clear(row) {
  row.matrix = null;
  row.text.set([], []);
  row.readout.textContent = row.target.textContent = row.notes.textContent = "";
  row.notes.hidden = true;
  fill(row.suggestions);
}

// The text as it was typed, until the model says how it reads it.
export function pending(text) {
  const symbols = [...(text.startsWith(" ") ? text : ` ${text}`)];
  let word = -1;
  return [symbols, symbols.map((symbol) => (word += symbol === " "))];
}
