// What does a phrase contribute to each later prediction? Choose it in the text; the rest of the text is the other part.
import { answering } from "../lib/answering.js";
import { lineChart } from "../lib/chart.js";
import { onTheme } from "../lib/color.js";
import { debounce, fill, h, latest, number, select, svg, uniqueId } from "../lib/dom.js";
import { glyphs, moved, named } from "../lib/glyphs.js";
import { heat } from "../lib/heat.js";
import { wordsOf } from "../lib/matrix.js";
import { colorBar, shade, textPicture } from "../lib/shades.js";
import { modelName, parseModel, titleOf, unitOf } from "../lib/models.js";
import { chance, modelPicker, textField } from "../lib/textview.js";

const TEXT = "a young age through advanced learning though the rules taught in schools";
const PHRASE = [20, 28]; // " advanced"
const LOOKED = 31; // le|arning
const LABELLED = 16; // units of a tree that can be named below it
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
    let [start, end] = (given.phrase || (given.text === undefined ? PHRASE : [0, 0]).join("-")).split("-").map(Number); // end: where keys extend it
    let at = given.at === undefined ? (given.text === undefined ? LOOKED : null) : Number(given.at); // the output that is looked at
    let answer = null;
    let tree = null;
    let legend = null; // what the colors mean

    const askTree = latest((signal, body) => context.api.post("/api/decomposition/tree", body, { signal }));
    const rules = () => ({ rules: chosen.rules });
    const span = () => [Math.min(start, end), Math.max(start, end)];

    // What is shown is of the phrase, text and model that were asked about; the text can be used only while it is theirs.
    const results = h("div", { hidden: true });
    const current = answering(results, (signal, body) => context.api.post("/api/decomposition/phrase", body, { signal }), () => {
      answer = tree = null;
      results.hidden = treeBox.hidden = true;
      shown.set([], []);
      treeState.textContent = "";
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
    const spell = (first, last) => {
      const letters = answer.symbols.every((symbol) => symbol.length === 1);
      return answer.symbols.slice(first, last + 1).join(letters ? "" : " ").trim() || "space";
    };

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
          tree = null;
          treeBox.hidden = true;
        }
        if (at === null || at < first || at >= answer.symbols.length) at = answer.symbols.length - 1;
        context.clear();
        draw();
        loadTree();
      } catch (error) {
        if (before && error.status === 422 && start + end > 0) { // the phrase was of another text: this one may be shorter
          [start, end, at] = [0, 0, null];
          remember();
          await load();
        } else context.fail(error);
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
      chart.update({ series });
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

    // All spans at the chosen output: a triangle, one cell per span, long spans on top.
    const treeLater = debounce(() => loadTree(), 200);
    async function loadTree() {
      if (!answer || at === null) return;
      const limit = answer.tree_limits[chosen.unit];
      const count = chosen.unit === "words" ? wordsOf(answer.words.slice(0, at + 1)).length : at + 1;
      if (count > limit) {
        askTree.cancel();
        tree = null;
        treeBox.hidden = true;
        treeState.textContent = `The tree holds at most ${limit} ${chosen.unit} up to the chosen output, here there are ${count}. Choose an earlier output.`;
        return;
      }
      try {
        treeState.textContent = "computing …";
        treeBox.setAttribute("aria-busy", "true");
        const found = await askTree(body({ at, unit: chosen.unit }));
        if (!found || !answer) return;
        tree = found;
        treeBox.removeAttribute("aria-busy");
        drawTree();
      } catch (problem) {
        tree = null;
        treeBox.hidden = true;
        treeState.textContent = problem.message;
      }
    }

    const place = (first, length) => (first * (2 * tree.units.length - first + 1)) / 2 + length;
    const ofCell = (row, column) => {
      const count = tree.units.length;
      const length = count - 1 - row; // the longest on top
      const first = Math.floor((column - length) / 2); // shorter spans begin half a cell further left and right
      return { first: Math.max(0, Math.min(count - 1 - length, first)), length };
    };
    const spanText = (first, length) => spell(tree.units[first][0], tree.units[first + length][1]);

    function drawTree() {
      const count = tree.units.length;
      const most = Math.max(1e-9, ...tree.scores.map((score) => Math.abs(score)));
      treeBox.hidden = false;
      treeState.textContent = `Output ${tree.at + 1}, “${tree.output}”: the logit of each of the ${tree.scores.length} spans. Largest error of ${tree.measured} of them: ${number(tree.error)}. ${doubts(tree)}`;
      treeState.classList.toggle("doubtful", tree.error > LARGE || Boolean(tree.warning));
      map.set({
        rows: count, columns: 2 * count, signed: true, aspect: count > 1 ? `2 / 1` : "8 / 1", labels: count <= LABELLED ? tree.units.map(([first, last]) => spell(first, last)) : [],
        value: (row, column) => {
          const length = count - 1 - row;
          const inside = column - length;
          if (inside < 0 || inside >= 2 * (count - length)) return null;
          const share = tree.scores[place(Math.floor(inside / 2), length)] / most;
          return Math.sign(share) * Math.abs(share) ** 0.7; // so that small ones can be told from none
        },
      });
      const ranked = [];
      for (let first = 0; first < count; first += 1) for (let length = 0; length < count - first; length += 1) ranked.push([spanText(first, length), tree.scores[place(first, length)], first, length]);
      ranked.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const line = ([words, score, first, length]) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => choose(tree.units[first][0], tree.units[first + length][1]) }, words)), h("td", { class: "number" }, number(score)));
      fill(best, h("caption", {}, "Largest contributions"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "span"), h("th", { scope: "col", class: "number" }, "logit"))), h("tbody", {}, ranked.slice(0, 12).map(line)));
      root.dataset.tree = String(tree.scores.length);
    }

    const map = heat({
      axis: "bottom",
      label: "Tree of all spans: the whole text on top, single units at the bottom",
      hint: "Each cell is a span: the whole text on top, single units at the bottom. Click a span to choose it as the phrase.",
      read: (row, column) => {
        const { first, length } = ofCell(row, column);
        return `“${spanText(first, length)}”: ${number(tree.scores[place(first, length)])}`;
      },
      onpick: (row, column) => {
        const { first, length } = ofCell(row, column);
        choose(tree.units[first][0], tree.units[first + length][1]);
      },
    });

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
      return h("div", { class: "field" }, h("label", { for: id }, label), made, name === "look" && wordInput);
    });
    const modelSlot = h("span", {});
    const textBox = h("div", { class: "phrase-text answers" }, shown.element);
    const notes = h("p", { class: "row-notes", hidden: true });
    const heading = h("span", { class: "phrase-name" });
    const bar = colorBar();
    const facts = h("dl", { class: "facts-line" });
    const error = h("p", { class: "method-error" });
    const chart = lineChart({ series: [], x: { label: "output (character)" }, y: { label: "logit" }, height: 220 });
    const treeState = h("p", { class: "hint", role: "status" });
    const best = h("table", { class: "data" });
    const treeBox = h("div", { class: "tree answers", hidden: true }, map.element, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Largest contributions" }, best));
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
      h("section", { class: "panel", "aria-label": "All spans" }, h("h2", {}, "All spans"), treeState, treeBox),
    );
    const endTheme = onTheme(() => answer && draw());

    async function begin() {
      shelf = await context.models();
      if (!shelf.length) throw new Error("No model on the shelf reads text.");
      model ??= { key: shelf[0].key, checkpoint: null };
      fill(modelSlot, modelPicker({ shelf, chosen: model, label: "Model", onchange: (picked) => {
        model = picked;
        input.count();
        remember();
        load();
      } }));
      const kind = shelf.find((item) => item.key === model.key)?.kind;
      if (text === undefined) {
        text = TEXT;
        if (kind === "sequence") {
          text = (await context.api.post("/api/connectivity/symbols", { model: model.key })).example;
          [start, end, at] = [0, 0, null];
        }
      }
      input.set(text);
      await load();
    }
    begin().catch(context.fail);

    return {
      unmount() {
        [current, askTree, later, treeLater, keep, input].forEach((part) => part.cancel());
        map.destroy();
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
        if (!tree) return picture;
        const [width, height] = [Number(picture.getAttribute("width")), Number(picture.getAttribute("height"))];
        const labels = tree.units.length <= LABELLED ? tree.units : [];
        const middle = (index) => ((index + 0.5) * width) / tree.units.length;
        picture.append(
          svg("text", { x: 0, y: height + 12, "font-size": 12, fill: "var(--muted)" }, treeState.textContent),
          svg("image", { x: 0, y: height + 24, width, height: width / 2, preserveAspectRatio: "none", href: map.picture() }),
          ...labels.map(([from, to], index) => svg("text", { x: middle(index), y: height + width / 2 + 40, "font-size": 11, "text-anchor": "middle", fill: "var(--muted)" }, spell(from, to))),
        );
        picture.setAttribute("height", height + width / 2 + 50);
        picture.setAttribute("viewBox", `0 0 ${width} ${height + width / 2 + 50}`);
        return picture;
      },
    };
  },
};
