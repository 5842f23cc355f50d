// What does a phrase contribute to each later prediction? Choose it in the text; the rest of the text is the other part.
import { answering } from "../lib/answering.js";
import { lineChart } from "../lib/chart.js";
import { onTheme } from "../lib/color.js";
import { debounce, fill, h, number, select, uniqueId } from "../lib/dom.js";
import { glyphs, moved, named, spelled } from "../lib/glyphs.js";
import { wordsOf } from "../lib/matrix.js";
import { colorBar, shade, textPicture } from "../lib/shades.js";
import { modelName, parseModel, titleOf, unitOf } from "../lib/models.js";
import { chance, modelPicker, textField } from "../lib/textview.js";
import { spanTree } from "./decomposition/tree.js";

const LARGE = 0.01; // an error that makes the parts doubtful
const OPTIONS = {
  look: { label: "Look at", values: [["predicted", "the predicted word"], ["target", "the text's own word"], ["word", "this word …"]] },
  rules: { label: "Rules", values: [["shapley", "Shapley, against a run without input"], ["gcd2019", "generalized (Jumelet et al. 2019)"], ["murdoch2018", "first published (Murdoch et al. 2018)"]] },
  unit: { label: "Tree of", values: [["words", "whole words"], ["symbols", "symbols"]] },
};

// What must be known before the parts are believed.
const doubts = ({ error, warning }) => warning ? warning.replace(/ Choose rules=.*/, " Choose the Shapley rules above.") : error > LARGE ? "That is too much to trust the parts; try other rules, or a shorter text." : "";

export const view = {
  name: "decomposition",
  title: "Decomposition",
  mount(root, context) {
    const given = context.state.get();
    const chosen = Object.fromEntries(Object.entries(OPTIONS).map(([name, { values }]) => [name, values.some(([value]) => value === given[name]) ? given[name] : values[0][0]]));
    chosen.word = given.word || "";
    let shelf = [];
    let model = given.model ? parseModel(given.model) : null;
    let text = given.text;
    let [start, end] = (given.phrase || "0-0").split("-").map(Number); // end: where keys extend it
    let at = given.at === undefined ? null : Number(given.at); // the output that is looked at
    let answer = null;
    let legend = null; // what the colors mean

    const rules = () => ({ rules: chosen.rules });
    const span = () => [Math.min(start, end), Math.max(start, end)];

    // What is shown is of the phrase, text and model that were asked about; the text can be used only while it is theirs.
    const results = h("div", { hidden: true });
    const current = answering(results, (signal, body) => context.api.post("/api/decomposition/phrase", body, { signal }), () => {
      answer = null;
      results.hidden = true;
      tree.forget();
      shown.set([], []);
    });
    const asked = () => [current.held.question.start, current.held.question.end];
    const readAs = ({ model: key, checkpoint, text: of }) => JSON.stringify([key, checkpoint, of]);
    const shownModel = () => ({ key: current.held.question.model, checkpoint: current.held.question.checkpoint });
    const usable = () => answer && readAs(current.held.question) === readAs({ model: model.key, checkpoint: model.checkpoint, text });

    // The text: dragging or shift with arrow keys chooses the phrase, a click behind it chooses the output.
    const shown = glyphs({
      label: "Text: choose a phrase", multiple: true,
      ondrag: (from, to) => {
        if (!usable() || (from === to && start === end)) return;
        dragged = true;
        choose(from, to);
      },
      onpress: (place, event) => {
        if (dragged) {
          dragged = false;
          return;
        }
        if (!usable()) return;
        const word = wordAt(place);
        if (event.shiftKey) choose(start, place);
        else if (place > span()[1]) lookAt(place);
        else choose(word.first, word.last);
      },
      onpoint: (place) => {
        if (!dragged) tell(place);
      },
      onleave: () => tell(null),
      onkey: (event) => {
        if (!usable()) return false;
        const count = answer.symbols.length;
        const to = moved(event, event.shiftKey ? end : at === null ? end : at, count);
        if (to === undefined) return false;
        if (event.shiftKey) choose(start, to);
        else if (event.key === "Home" || to < span()[0]) choose(to, to);
        else lookAt(to);
        return true;
      },
    });
    let dragged = false;

    const wordAt = (place) => wordsOf(answer.words).find(({ first, last }) => first <= place && place <= last);
    const spell = (first, last) => spelled(answer.symbols, first, last);

    function choose(from, to) {
      [start, end] = [from, to];
      shown.mark(start, end, end);
      shown.flag("phrase", (place) => place >= span()[0] && place <= span()[1]);
      shown.paint(() => ["transparent", "inherit"]);
      keep();
      later();
    }
    const later = debounce(() => load(), 120);

    function body(extra) {
      const made = { model: model.key, checkpoint: model.checkpoint, text, ...rules(), ...extra };
      if (chosen.look === "word" && chosen.word) made.word = chosen.word;
      return made;
    }

    async function load() {
      if (!model) return;
      if (!text.trim()) {
        current.forget();
        context.clear();
        return;
      }
      wordNote.textContent = "";
      const before = answer && readAs(current.held.question);
      textBox.setAttribute("aria-busy", String(Boolean(answer) && !usable()));
      try {
        const [first, last] = span();
        const got = await current.ask(body({ start: first, end: last, target: chosen.look === "target" }));
        if (!got) return;
        answer = got.answer;
        results.hidden = false;
        if (before !== readAs(got.question)) {
          shown.set(answer.symbols, answer.words, answer.changed);
          tree.forget();
        }
        if (at === null || at < first || at >= answer.symbols.length) at = answer.symbols.length - 1;
        context.clear();
        draw();
        loadTree();
      } catch (error) {
        const other = before && before !== readAs({ model: model.key, checkpoint: model.checkpoint, text });
        if (other && error.status === 422 && start + end > 0) { // the phrase was of that one: this one may be shorter
          [start, end, at] = [0, 0, null];
          remember();
          await load();
        } else if (error.status === 422 && chosen.look === "word") wordNote.textContent = error.message; // while it is typed
        else context.fail(error);
      }
      textBox.setAttribute("aria-busy", "false");
    }

    // Later characters are shaded by the phrase's part of the logit there.
    const step = (place) => place - answer.steps[0];
    const large = () => Math.max(1e-9, ...answer.phrase.slice(step(asked()[1]) + 1).map(Math.abs));
    const colors = (place) => {
      const [first, last] = asked();
      if (place < first) return null;
      if (place <= last) return ["transparent", "inherit"];
      return shade(answer.phrase[step(place)] / large(), true);
    };

    function draw() {
      const [first, last] = asked();
      shown.mark(...span(), end);
      shown.flag("phrase", (place) => place >= span()[0] && place <= span()[1]);
      shown.flag("looked", (place) => place === at);
      shown.paint(colors);
      notes.textContent = answer.notes.join(" ");
      notes.hidden = !answer.notes.length;
      heading.textContent = `“${spell(first, last)}”`;
      legend = { signed: true, low: number(-large()), high: number(large()), measure: "logit that the phrase contributes, at each later output" };
      bar.update(legend);
      const series = [["the phrase", answer.phrase], ["the rest", answer.rest]].map(([name, values]) => ({ name, points: answer.steps.map((place, index) => [place + 1, values[index]]) }));
      chart.update({ series, x: { label: `output (${unitOf(shelf, shownModel())})` } });
      error.classList.toggle("doubtful", answer.error > LARGE || Boolean(answer.warning));
      error.textContent = `Error of the parts: ${number(answer.error)} of the largest. Largest part: ${number(answer.growth)} times the state. ${doubts(answer)}`;
      tell(null);
    }

    function tell(place) {
      if (!answer) return;
      const looked = place === null || place < asked()[0] ? at : place;
      const index = step(looked);
      if (answer.phrase[index] === undefined) return;
      const cells = [
        ["predicted there", named(answer.outputs[index])],
        ["logit from the phrase", number(answer.phrase[index])], ["from the rest", number(answer.rest[index])], ["from the readout's bias", number(answer.bias[index])],
        ["probability", chance(answer.chance[index])], ["from the phrase alone", chance(answer.chance_phrase[index])], ["from the rest alone", chance(answer.chance_rest[index])],
      ];
      if (chosen.look !== "predicted") cells[0][0] = "looked at";
      fill(facts, h("div", {}, h("dt", {}, "output"), h("dd", {}, `${looked + 1} “${named(answer.symbols[looked])}”`)), cells.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    }

    function lookAt(place) {
      at = place;
      shown.flag("looked", (other) => other === at);
      tell(null);
      keep();
      const index = step(at);
      if (index >= 0) context.announce(`Output ${at + 1}, ${named(answer.outputs[index])}: ${number(answer.phrase[index])} from the phrase, ${number(answer.rest[index])} from the rest.`);
      treeLater();
    }

    const tree = spanTree(context, { root, choose: (first, last) => usable() && choose(first, last), doubts });
    const treeLater = debounce(() => loadTree(), 200);
    const loadTree = () => answer && at !== null && tree.load(body, answer, at, chosen.unit);

    const keep = debounce(() => remember(), 150);
    function remember() {
      const values = { model: model ? modelName(model) : "", text, phrase: span().join("-"), at: at === null ? "" : at };
      for (const [name, { values: known }] of Object.entries(OPTIONS)) values[name] = chosen[name] === known[0][0] ? "" : chosen[name];
      values.word = chosen.look === "word" ? chosen.word : "";
      context.state.set(values);
    }

    // The frame.
    const input = textField({ label: "Text", value: "", wait: 350, rows: 2, characters: () => unitOf(shelf, model) !== "word", onchange: (value) => {
      if (value === text) return;
      text = value;
      const last = Math.max(0, value.length - 1);
      [start, end] = [Math.min(start, last), Math.min(end, last)];
      at = null;
      remember();
      load();
    } });
    const wordInput = h("input", { type: "text", maxlength: 80, size: 12, "aria-label": "The word that is looked at", value: chosen.word, hidden: chosen.look !== "word", oninput: debounce((event) => {
      chosen.word = event.target.value.trim().toLowerCase();
      remember();
      load();
    }, 350) });
    const wordNote = h("p", { class: "hint", role: "status" });
    const controls = Object.entries(OPTIONS).map(([name, { label, values }]) => {
      const id = uniqueId("option");
      const made = select(values, chosen[name], (value) => {
        chosen[name] = value;
        wordInput.hidden = chosen.look !== "word";
        remember();
        if (name === "unit") loadTree();
        else if (name === "look" && value === "word" && !chosen.word) wordInput.focus();
        else load();
      }, { id });
      return h("div", { class: "field" }, h("label", { for: id }, label), made, name === "look" && [wordInput, wordNote]);
    });
    const modelSlot = h("span", {});
    const textBox = h("div", { class: "phrase-text answers" }, shown.element);
    const notes = h("p", { class: "row-notes", hidden: true });
    const heading = h("span", { class: "phrase-name" });
    const bar = colorBar();
    const facts = h("dl", { class: "facts-line" });
    const error = h("p", { class: "method-error" });
    const chart = lineChart({ series: [], x: { label: "output" }, y: { label: "logit" }, height: 220 });
    fill(
      root,
      h("p", { class: "lead-in" }, "The state of a network is split in two: what comes from a phrase, and the rest. Drag over a phrase, or hold Shift and use the arrow keys; then choose a later character to see what the phrase contributes to the prediction there."),
      h("div", { class: "controls" }, h("div", { class: "field" }, h("span", { class: "label" }, "Model"), modelSlot)),
      input.element,
      h("details", { class: "options", open: Object.keys(OPTIONS).some((name) => given[name]) }, h("summary", {}, "What is looked at, and the rules of the split"), h("div", { class: "controls" }, controls)),
      textBox, current.waiting, results,
    );
    fill(
      results, h("div", { class: "legend-line" }, bar.element), notes, facts, error,
      h("section", { class: "panel", "aria-label": "The phrase against the rest" }, h("h2", {}, heading, " against the rest"), chart.element),
      tree.element,
    );
    const endTheme = onTheme(() => answer && draw());

    async function begin() {
      shelf = await context.models();
      if (!shelf.length) throw new Error("No model on the shelf reads text.");
      model ??= { key: shelf[0].key, checkpoint: null };
      const kind = shelf.find((item) => item.key === model.key)?.kind;
      if (text === undefined) {
        if (kind === "sequence") {
          text = (await context.api.post("/api/connectivity/symbols", { model: model.key })).example;
          [start, end, at] = [0, 0, null];
        } else {
          const example = await context.api.get("/api/decomposition/example");
          text = example.text;
          if (!given.phrase) [start, end, at] = [...example.phrase, example.at];
          if (!given.model) model.key = shelf.some((item) => item.key === example.model) ? example.model : model.key;
        }
      }
      fill(modelSlot, modelPicker({ shelf, chosen: model, label: "Model", onchange: (picked) => {
        model = picked;
        input.count();
        remember();
        load();
      } }));
      input.set(text);
      await load();
    }
    begin().catch(context.fail);

    return {
      unmount() {
        [current, tree, later, treeLater, keep, input].forEach((part) => part.cancel());
        tree.destroy();
        chart.destroy();
        endTheme();
      },
      data() {
        const columns = ["model", "phrase", "output", "symbol", "word", "logit_phrase", "logit_rest", "logit_bias", "probability", "probability_phrase", "probability_rest"];
        if (!answer) return { columns, rows: [] };
        const phrase = spell(...asked());
        return { columns, rows: answer.steps.map((place, index) => [modelName(shownModel()), phrase, place, answer.symbols[place], answer.outputs[index], answer.phrase[index], answer.rest[index], answer.bias[index], answer.chance[index], answer.chance_phrase[index], answer.chance_rest[index]]) };
      },
      svg() {
        if (!answer) return null;
        const [first, last] = asked();
        const painted = (place) => (place >= first && place <= last ? ["var(--published)", "var(--published-ink)"] : colors(place));
        const note = `contribution of “${spell(first, last)}”`;
        const picture = textPicture([{ title: titleOf(shownModel(), shelf), note, symbols: answer.symbols, words: answer.words, colors: painted, marked: at }], { bar: legend });
        tree.append(picture);
        return picture;
      },
    };
  },
};
