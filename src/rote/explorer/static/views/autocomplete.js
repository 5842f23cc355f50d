// Type, and see what the network expects: suggestions, the whole vocabulary, and what its cells did on the way.
import { answering } from "../lib/answering.js";
import { onTheme } from "../lib/color.js";
import { debounce, field, fill, h, latest, number, percent, select, svg } from "../lib/dom.js";
import { glyphs, moved, named } from "../lib/glyphs.js";
import { heat } from "../lib/heat.js";
import { floats } from "../lib/matrix.js";
import { shade, textPicture } from "../lib/shades.js";
import { modelName, parseModel, titleOf, unitOf } from "../lib/models.js";
import { chance, modelPicker, textField } from "../lib/textview.js";
import { gateLines, moving } from "./autocomplete/gates.js";

const EXAMPLES = ["parts of north af", "the united states of am", "he was born in the ci", "a young age through advanced le"];
const LABELLED = 60; // characters that still fit above the map
const FOUND = 0.005; // a probability that is worth a mark in the strip

export const view = {
  name: "autocomplete",
  title: "Autocomplete",
  mount(root, context) {
    const given = context.state.get();
    let shelf = [];
    let model = given.model ? parseModel(given.model) : null;
    let text = given.text;
    let word = given.word || "";
    let layer = Number(given.layer) || 0;
    let series = given.series || "hidden";
    let unit = given.unit === undefined ? null : Number(given.unit);
    const NONE = { key: "", text: "", symbols: [], columns: [] };
    let activity = NONE; // what is shown of the cells, character by character
    let every = given.units === "all"; // all units by number, or those that change most
    let order = []; // the units of the map, from above
    let looked = null; // the character whose suggestions are shown; null: the last

    const expected = h("div", { class: "expected", hidden: true });
    const current = answering(expected, (signal, body) => context.api.post("/api/autocomplete", body, { signal }), () => {
      expected.hidden = true;
      notes.hidden = true;
    });
    const suggestions = h("ol", { class: "choices", "aria-label": "Suggestions" });
    const rank = h("p", { class: "hint", role: "status" });
    const notes = h("p", { class: "row-notes", hidden: true });
    const strip = h("canvas", { class: "strip", width: 256, height: 1, role: "img" });
    const stripNote = h("p", { class: "heat-readout" });
    const shown = glyphs({
      label: "The text as the model reads it, shaded by one unit", onpoint: (at) => look(at), onleave: () => look(null),
      onpress: (at) => look(at), onkey: (event) => {
        if (!current.held) return false;
        const last = current.held.answer.symbols.length - 1;
        const to = moved(event, looked === null ? last : looked, last + 1);
        if (to === undefined) return false;
        look(to);
        return true;
      },
    });
    const map = heat({
      label: "Activity of the cells: units down, the text across",
      hint: "Units down, the text across. Click a unit (or press Enter on it) to shade the text with it.",
      read: (row, column) => `unit ${order[row]} at character ${column + 1} “${named(activity.symbols[column])}”: ${number(activity.columns[column][order[row]])}`,
      onpick: (row) => chooseUnit(order[row] === unit ? null : order[row]),
      cell: 20,
    });
    const unitNote = h("p", { class: "hint" });
    const gates = gateLines();

    const kind = () => shelf.find((item) => item.key === model.key)?.kind;

    // Every key asks; a question that was overtaken is given up, and only new characters are sent back.
    async function update() {
      if (!model) return;
      if (!text.trim() && kind() !== "autocomplete") { // nothing to go on: such a model needs a symbol
        current.forget();
        tellNotes(["Type a symbol of the model's vocabulary."]);
        return;
      }
      const key = JSON.stringify([modelName(model), layer, series]);
      const known = activity.key === key ? activity : NONE;
      const body = { model: model.key, checkpoint: model.checkpoint, text, layer, series, since: common(known, text) };
      if (word) body.word = word;
      const begun = performance.now();
      try {
        const got = await current.ask(body);
        if (!got) return;
        const found = got.answer;
        const numbers = floats(found.activity);
        activity = { key, text: body.text, symbols: found.symbols, columns: known.columns.slice(0, found.since) };
        for (let at = found.since; at < found.symbols.length; at += 1) {
          activity.columns.push(numbers.subarray((at - found.since) * found.units, (at - found.since + 1) * found.units));
        }
        looked = null;
        root.dataset.milliseconds = (performance.now() - begun).toFixed(1);
        context.clear();
        draw();
      } catch (error) {
        context.fail(error);
      }
    }

    // Characters of the known text that this one begins with: their activity is here already.
    function common(known, next) {
      if (!known.columns.length || kind() !== "autocomplete") return 0;
      let same = 0;
      const [before, now] = [known.text, next].map((value) => (value.startsWith(" ") ? value : ` ${value}`));
      while (same < before.length && same < now.length && before[same] === now[same]) same += 1;
      return Math.min(same, known.columns.length);
    }

    const rangeOf = () => {
      let most = 0;
      for (const column of activity.columns) for (const value of column) most = Math.max(most, Math.abs(value));
      return most || 1;
    };

    function draw() {
      const { answer } = current.held;
      expected.hidden = false;
      drawSuggestions(current.held);
      drawStrip(answer);
      tellNotes(answer.notes);
      shown.set(answer.symbols, answer.words, answer.changed);
      drawControls(answer);
      drawActivity();
    }

    function tellNotes(told) {
      notes.textContent = told.join(" ");
      notes.hidden = !told.length;
    }

    function drawSuggestions({ question: { word }, answer: found }, at = null) {
      const most = found.chances[0] || 1;
      fill(suggestions, found.suggested.map((item, index) => h("li", {},
        h("button", { type: "button", class: item === word ? "choice-word asked" : "choice-word", title: "Take this word", onclick: () => take(item) }, named(item)),
        h("span", { class: "choice-bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * found.chances[index]) / most}%` } })),
        h("span", { class: "choice-share" }, chance(found.chances[index])))));
      const where = at === null ? "" : `after character ${at + 1} · `;
      rank.textContent = found.rank ? `${where}“${word}”: rank ${found.rank} of ${found.outputs}, ${percent(found.chance, 2)}` : found.unknown || (where ? `${where}what it expected there` : "");
    }

    function drawStrip(answer) {
      const values = floats(answer.strip);
      const most = Math.max(...values) || 1;
      strip.width = values.length;
      const pen = strip.getContext("2d");
      values.forEach((value, at) => {
        pen.fillStyle = shade((value / most) ** 0.5, false)[0];
        pen.clearRect(at, 0, 1, 1);
        pen.fillRect(at, 0, 1, 1);
      });
      const many = values.reduce((sum, value) => sum + (value >= FOUND), 0);
      const groups = values.length < answer.outputs ? ` in ${values.length} groups, each as dark as its most probable; ${many} groups reach` : `; ${many} of them reach`;
      const told = `${answer.outputs} outputs${groups} ${percent(FOUND)}. The most probable has ${percent(most)}.`;
      strip.setAttribute("aria-label", `Probability over the vocabulary. ${told}`);
      stripNote.textContent = told;
      stripTold = told;
      stripValues = values;
    }

    let stripTold = "";
    let stripValues = [];
    strip.addEventListener("pointermove", (event) => {
      const box = strip.getBoundingClientRect();
      const at = Math.floor(((event.clientX - box.left) / box.width) * stripValues.length);
      if (!current.held || stripValues[at] === undefined) return;
      const { strip_words: words, outputs } = current.held.answer;
      stripNote.textContent = `“${words[at]}”: ${percent(stripValues[at], 3)}${stripValues.length < outputs ? `, the most of about ${Math.round(outputs / stripValues.length)} words here` : ""}`;
    });
    strip.addEventListener("pointerleave", () => (stripNote.textContent = stripTold));

    function drawControls(answer) {
      const layers = answer.layers.map((item) => [String(item), `layer ${item + 1}`]);
      const names = answer.series.map((item) => [item, item.replace(/_/g, " ")]);
      fill(
        choices,
        field("Layer", select(layers, String(layer), (value) => { layer = Number(value); unit = null; changed(); })),
        field("State or gate", select(names, series, (value) => { series = value; unit = null; changed(); })),
        field("Units", select([["", "that change most, in that order"], ["all", "all, by number"]], every ? "all" : "", (value) => { every = value === "all"; remember(); drawActivity(); })),
      );
      gates.update(answer.gates, unitOf(shelf, model));
    }

    function drawActivity() {
      const { columns } = activity;
      if (!columns.length) return;
      const signed = columns.some((column) => column.some((value) => value < 0));
      const most = rangeOf();
      const labels = columns.length <= LABELLED ? activity.symbols : [];
      order = every ? [...columns[0].keys()] : moving(columns);
      map.set({ rows: order.length, columns: columns.length, signed, labels, value: (row, column) => columns[column][order[row]] / most });
      paintUnit();
    }

    function paintUnit() {
      const { columns } = activity;
      if (unit === null || !columns.length || unit >= columns[0].length) {
        shown.paint(() => ["transparent", "inherit"]);
        unitNote.textContent = "Choose a unit in the map below: the text is then shaded by its activity.";
        return;
      }
      const signed = columns.some((column) => column.some((value) => value < 0));
      const most = Math.max(...columns.map((column) => Math.abs(column[unit]))) || 1;
      shown.paint((at) => shade(columns[at][unit] / most, signed));
      const { question } = current.held;
      unitNote.textContent = `Shaded by unit ${unit} of ${question.series.replace(/_/g, " ")}, layer ${question.layer + 1}: strongest ${number(most)}${signed ? ", blue above 0, orange below" : ""}.`;
    }

    function chooseUnit(chosen) {
      unit = chosen;
      paintUnit();
      remember();
      context.announce(unitNote.textContent);
    }

    // What was expected earlier: the beginning of the text, which the server has read already.
    const lookAt = latest((signal, body) => context.api.post("/api/autocomplete", body, { signal }));
    async function look(at) {
      const { held } = current;
      if (!held || at === looked) return;
      looked = at;
      if (at === null) {
        lookAt.cancel();
        drawSuggestions(held);
        return;
      }
      shown.mark(at);
      const { symbols } = held.answer;
      const letters = symbols.every((symbol) => symbol.length === 1);
      const question = { ...held.question, text: symbols.slice(0, at + 1).join(letters ? "" : " "), since: symbols.length };
      try {
        const answer = await lookAt(question);
        if (answer && current.held === held && looked === at) drawSuggestions({ question, answer }, at);
      } catch (error) {
        context.fail(error);
      }
    }

    function take(chosen) {
      const before = kind() === "autocomplete" ? text.replace(/\S*$/, "") : text && !text.endsWith(" ") ? `${text} ` : text;
      text = `${before}${chosen} `;
      input.set(text);
      input.area.focus();
      changed();
    }

    function changed() {
      remember();
      update();
    }

    const keep = debounce(() => remember(), 200);
    function remember() {
      context.state.set({ model: model ? modelName(model) : "", text, word, layer: layer || "", series: series === "hidden" ? "" : series, unit: unit === null ? "" : unit, units: every ? "all" : "" });
    }

    const input = textField({ label: "Type here", value: "", wait: 0, rows: 2, characters: () => unitOf(shelf, model) !== "word", onchange: (value) => {
      text = value;
      keep();
      update();
    } });
    const wordField = h("input", { type: "text", size: 14, maxlength: 80, value: word, oninput: debounce((event) => {
      word = event.target.value.trim().toLowerCase();
      changed();
    }, 250) });
    const choices = h("div", { class: "controls" });
    const modelSlot = h("span", {});
    const examples = h("p", { class: "examples" }, "Try: ", EXAMPLES.map((example) => h("button", { type: "button", class: "link", onclick: () => {
      text = example;
      input.set(text);
      changed();
    } }, example)), h("button", { type: "button", class: "link", onclick: () => {
      text = text.replace(/\s+$/, "").slice(0, -1);
      input.set(text);
      changed();
    } }, "remove the last letter"));

    fill(
      root,
      h("p", { class: "lead-in" }, "With every key the network says which word it expects. Take away letters, or whole words before: what it knows comes from there."),
      h("div", { class: "controls" }, h("div", { class: "field" }, h("span", { class: "label" }, "Model"), modelSlot), field("Rank of the word", wordField)),
      input.element, examples, notes,
      current.waiting, expected,
    );
    fill(
      expected,
      h("section", { class: "panel", "aria-label": "Expected next" }, h("h2", {}, "Expected next"), suggestions, rank),
      h("div", {},
        h("section", { class: "panel", "aria-label": "The whole vocabulary" }, h("h2", {}, "The whole vocabulary"), strip, stripNote),
        h("section", { class: "panel", "aria-label": "The cells along the text" }, h("h2", {}, "The cells along the text"), choices, unitNote, shown.element, map.element, gates.element)),
    );
    const end = onTheme(() => current.held && draw());

    async function start() {
      shelf = await context.models();
      if (!shelf.length) throw new Error("No model on the shelf reads text.");
      model ??= { key: shelf[0].key, checkpoint: null };
      fill(modelSlot, modelPicker({ shelf, chosen: model, label: "Model", onchange: (chosen) => {
        model = chosen;
        layer = 0;
        series = "hidden";
        unit = null;
        examples.hidden = kind() !== "autocomplete";
        input.count();
        changed();
      } }));
      if (text === undefined) text = kind() === "autocomplete" || !kind() ? EXAMPLES[0] : (await context.api.post("/api/connectivity/symbols", { model: model.key })).example;
      examples.hidden = kind() !== "autocomplete";
      input.set(text);
      await update();
    }
    start().catch(context.fail);

    return {
      unmount() {
        current.cancel();
        lookAt.cancel();
        keep.cancel();
        input.cancel();
        map.destroy();
        gates.destroy();
        end();
      },
      data() {
        const columns = ["model", "text", "rank", "word", "probability"];
        if (!current.held) return { columns, rows: [] };
        const { question, answer } = current.held;
        const of = modelName({ key: question.model, checkpoint: question.checkpoint });
        return { columns, rows: answer.suggested.map((item, index) => [of, question.text, index + 1, item, answer.chances[index]]) };
      },
      svg() {
        if (!current.held) return null;
        const { question, answer } = current.held;
        const note = answer.suggested.map((item, index) => `${named(item)} ${chance(answer.chances[index])}`).join(" · ");
        const picture = textPicture([{ title: titleOf({ key: question.model, checkpoint: question.checkpoint }, shelf), note, symbols: answer.symbols, words: answer.words, colors: (at) => unitColor(at) }]);
        const [width, height] = [Number(picture.getAttribute("width")), Number(picture.getAttribute("height"))];
        picture.append(svg("image", { x: 0, y: height, width, height: 320, preserveAspectRatio: "none", href: map.picture() }));
        picture.setAttribute("height", height + 330);
        picture.setAttribute("viewBox", `0 0 ${width} ${height + 330}`);
        return picture;
      },
    };

    function unitColor(at) {
      if (unit === null) return ["transparent", "inherit"];
      const most = Math.max(...activity.columns.map((column) => Math.abs(column[unit]))) || 1;
      return shade(activity.columns[at][unit] / most, true);
    }
  },
};
