// What a recurrent unit computes: its own step drawn as a diagram, live with the values of a typed text; the network drawn
// out over the text; how a gradient reaches back; and the article's opening figure.
import { answering } from "../lib/answering.js";
import { onTheme } from "../lib/color.js";
import { debounce, field, fill, h, number, percent, select } from "../lib/dom.js";
import { glyphs, moved, named } from "../lib/glyphs.js";
import { floats } from "../lib/matrix.js";
import { modelName, parseModel, unitOf } from "../lib/models.js";
import { shade } from "../lib/shades.js";
import { modelPicker, textField } from "../lib/textview.js";
import { unitDiagram } from "./units/diagram.js";
import { heroFigure } from "./units/hero.js";
import { show, unrolled } from "./units/unrolled.js";
import { vanishingFigure } from "./units/vanishing.js";

const START = "the formal study of gramm";
const AROUND = 24; // characters of the network that is drawn out

export const view = {
  name: "units",
  title: "Units",
  mount(root, context) {
    const given = context.state.get();
    let shelf = [];
    let model = given.model ? parseModel(given.model) : null;
    let text = given.text;
    let layer = Number(given.layer) || 0;
    let unit = Number(given.unit) || 0;
    let at = given.at === undefined ? null : Number(given.at); // the character; null: the last
    let values = null; // [step, node]
    let hidden = null; // [layer, step]

    const hero = heroFigure(context, given);
    const vanishing = vanishingFigure(context, given, () => ({ text: text || "", model }));
    const area = h("div", { class: "unit-answer", hidden: true });
    const current = answering(area, (signal, body) => context.api.post("/api/units", body, { signal }), () => (area.hidden = true));
    const shown = glyphs({ label: "The text as the model reads it, shaded by the unit", onpoint: (place) => go(place), onpress: (place) => go(place), onkey: (event) => {
      if (!current.held) return false;
      const to = moved(event, place(), current.held.answer.symbols.length);
      if (to !== undefined) go(to);
      return to !== undefined;
    } });
    const diagram = h("div", { class: "scroll drawing", tabindex: 0, role: "region", "aria-label": "Diagram of the unit" });
    const network = h("div", { class: "scroll drawing", tabindex: 0, role: "region", "aria-label": "The network, drawn out over the text" });
    const told = h("p", { class: "heat-readout", role: "status" });
    const notes = h("p", { class: "row-notes", hidden: true });
    const choices = h("div", { class: "controls" });
    const place = () => (at === null ? current.held.answer.symbols.length - 1 : Math.min(at, current.held.answer.symbols.length - 1));

    async function update() {
      if (!model) return;
      try {
        const got = await current.ask({ model: model.key, checkpoint: model.checkpoint, text, layer, unit });
        if (!got) return;
        values = floats(got.answer.values);
        hidden = floats(got.answer.hidden);
        area.hidden = false;
        notes.textContent = got.answer.notes.join(" ");
        notes.hidden = !got.answer.notes.length;
        shown.set(got.answer.symbols, got.answer.words, got.answer.changed);
        drawChoices(got.answer);
        draw();
        context.clear();
      } catch (error) {
        context.fail(error);
      }
    }

    // A layer or a unit that another model does not have is none.
    function drawChoices({ layers, units, cell }) {
      const chosen = current.held.question;
      const input = h("input", { type: "number", min: 0, max: units - 1, value: chosen.unit, oninput: (event) => {
        const wanted = Number(event.target.value);
        if (event.target.value === "" || !Number.isInteger(wanted) || wanted < 0 || wanted >= units) return;
        unit = wanted;
        changed();
      } });
      if (choices.contains(document.activeElement) && document.activeElement.type === "number") return; // it is being typed in
      const names = Array.from({ length: layers }, (_, index) => [String(index), `layer ${index + 1} of ${layers}`]);
      fill(choices, field("Layer", select(names, String(chosen.layer), (value) => {
        layer = Number(value);
        changed();
      })), field(`Unit, 0 to ${units - 1}`, input), h("span", { class: "hint" }, cell));
    }

    const range = (node) => {
      const { symbols, nodes } = current.held.answer;
      if (["sigmoid", "tanh"].includes(nodes[node].kind)) return 1;
      let most = 0;
      for (let step = 0; step < symbols.length; step += 1) most = Math.max(most, Math.abs(values[step * nodes.length + node]) || 0);
      return most;
    };

    function draw() {
      if (!current.held) return;
      const { symbols, nodes, outputs, layers, said, chances, cell } = current.held.answer;
      const { unit: of, layer: inside } = current.held.question;
      const step = place();
      const value = (node) => values[step * nodes.length + node];
      fill(diagram, unitDiagram({ nodes, outputs, value, range, symbol: symbols[step], label: `${cell}: ${nodes.length} operations at character ${step + 1}` }));
      const first = Math.max(0, Math.min(step - AROUND + 1, symbols.length - AROUND));
      const state = (row, column) => hidden[row * symbols.length + first + column];
      const most = hidden.reduce((largest, one) => Math.max(largest, Math.abs(one) || 0), 0) || 1;
      fill(network, unrolled({
        symbols: symbols.slice(first, first + AROUND), layers, chosen: step - first, pick: (column, row) => go(first + column, row),
        colors: (row, column) => shade(state(row, column) / most, true), active: (row, column) => first + column <= step,
        note: (row, column) => `layer ${row + 1}, “${named(symbols[first + column])}”: hidden ${number(state(row, column))}`,
        said: (column) => (first + column === step ? `${said[step]} ${percent(chances[step], 0)}` : ""),
        label: `${layers} layers over ${Math.min(AROUND, symbols.length)} characters, shaded by the hidden state of unit ${of}`,
      }));
      show(network, step - first);
      const output = outputs[Object.keys(outputs)[0]];
      const strongest = Array.from(symbols, (_, index) => Math.abs(values[index * nodes.length + output]) || 0).reduce((one, other) => Math.max(one, other), 0) || 1;
      shown.paint((index) => shade(values[index * nodes.length + output] / strongest, true));
      shown.mark(step);
      const states = Object.entries(outputs).map(([name, node]) => `${name.replace(/_/g, " ")} ${number(value(node))}`);
      told.textContent = `After “${named(symbols[step])}” (${step + 1}), unit ${of} of layer ${inside + 1}: ${states.join(", ")}. The network expects “${said[step]}”.`;
      root.dataset.drawn = String(nodes.length);
    }

    function go(step, row) {
      at = step;
      remember();
      if (row !== undefined && row !== current.held.question.layer && row !== layer) {
        layer = row;
        update();
      }
      draw();
    }

    function changed() {
      remember();
      update();
    }

    const remember = debounce(() => context.state.set({ model: model ? modelName(model) : "", text, layer: layer || "", unit: unit || "", at: at === null ? "" : at }), 150);
    const input = textField({ label: "Type here", value: "", wait: 120, rows: 2, characters: () => unitOf(shelf, model) !== "word", onchange: (value) => {
      text = value;
      at = null;
      changed();
      vanishing.changed();
    } });
    const modelSlot = h("span", {});

    fill(
      root,
      h("p", { class: "lead-in" }, "A recurrent unit carries what it read from character to character. Here is how: its equations as a diagram, with the values that they take while you type."),
      hero.element,
      vanishing.element,
      h("section", { class: "panel", "aria-label": "The unit" },
        h("h2", {}, "The unit, and the network that it makes"),
        h("div", { class: "controls" }, h("div", { class: "field" }, h("span", { class: "label" }, "Model"), modelSlot)),
        input.element, notes, current.waiting, area),
    );
    fill(
      area, choices, shown.element, told,
      h("h3", {}, "One step of the unit"),
      h("p", { class: "hint" }, "From left to right: what was there before, the gates, the new state. Every box is an operation of the cell's own code; dashed lines go through weights."),
      diagram,
      h("h3", {}, "The same unit at every character"),
      h("p", { class: "hint" }, "Each box is the unit above: it gets the state of the character before from the left, and the input or the layer below from underneath. Point at one to see inside."),
      network,
    );
    const end = onTheme(() => {
      draw();
      vanishing.draw();
      hero.again();
    });

    async function start() {
      shelf = await context.models();
      if (!shelf.length) throw new Error("No model on the shelf reads text.");
      model ??= { key: shelf[0].key, checkpoint: null };
      fill(modelSlot, modelPicker({ shelf, chosen: model, label: "Model", onchange: (chosen) => {
        model = chosen;
        layer = unit = 0;
        input.count();
        changed();
        vanishing.changed();
      } }));
      if (text === undefined) text = shelf.find((item) => item.key === model.key)?.kind === "sequence" ? (await context.api.post("/api/connectivity/symbols", { model: model.key })).example : START;
      input.set(text);
      vanishing.load();
      await Promise.all([update(), hero.load()]);
    }
    start().catch(context.fail);

    return {
      unmount() {
        [current, vanishing, input, remember].forEach((part) => part.cancel());
        hero.destroy();
        end();
      },
      data() {
        const columns = ["model", "layer", "unit", "step", "symbol", "operation", "name", "value"];
        if (!current.held) return { columns, rows: [] };
        const { question, answer: { symbols, nodes } } = current.held;
        const of = modelName({ key: question.model, checkpoint: question.checkpoint });
        const rows = symbols.flatMap((symbol, step) => nodes.map((node, index) => [of, question.layer, question.unit, step, symbol, node.kind, node.name, node.kind === "input" ? null : values[step * nodes.length + index]]));
        return { columns, rows };
      },
      svg: () => diagram.querySelector("svg"),
    };
  },
};
