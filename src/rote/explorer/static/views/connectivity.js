// Which characters does a prediction rest on? Linked rows of one text, one per model.
import { onTheme } from "../lib/color.js";
import { debounce, fill, h, select } from "../lib/dom.js";
import { moved, named } from "../lib/glyphs.js";
import { matrixPanel } from "../lib/matrices.js";
import { Matrix } from "../lib/matrix.js";
import { modelName, parseModel, titleOf, trainedAlike, unitOf } from "../lib/models.js";
import { colorBar, textPicture } from "../lib/shades.js";
import { chance, textField } from "../lib/textview.js";
import { guidedWalk } from "../lib/walk.js";
import { numbersTable } from "./connectivity/numbers.js";
import { ASKED, OPTIONS } from "./connectivity/options.js";
import { pending, rowMaker } from "./connectivity/rows.js";
import { shading } from "./connectivity/shading.js";

const START = { at: 106, models: 3 };
const WRONG = [404, 422]; // answers about the question itself

export const view = {
  name: "connectivity",
  title: "Connectivity",
  mount(root, context) {
    const given = context.state.get();
    const chosen = Object.fromEntries(Object.entries(OPTIONS).map(([name, { values }]) => [name, values.some(([value]) => value === given[name]) ? given[name] : values[0][0]]));
    chosen.word = given.word || "";
    let shelf = [];
    let text = given.text;
    let at = given.at === undefined ? START.at : Number(given.at) || 0;
    let pinned = given.pin === "1";
    let reading = null; // the other end of a value that is read: an input of the pinned output
    let rows = [];
    let legend = null; // what the colors mean
    let story = null; // the article's paragraph, its situations, and which of its networks' results are stored
    const ends = [];

    const { along, signed, placeIn, paintRow, tell, legend: meaning } = shading(chosen, { rows: () => rows, at: () => at, reading: () => reading });
    const makeRow = rowMaker(context, () => shelf, {
      point: (place) => (pinned ? read(place) : go(place)), press: (place) => press(place), leave: () => read(null), key, shift, remove,
      lost: () => drawMatrices(),
      model(row) {
        remember();
        field.count();
        load(row);
      },
    });

    function shift(row, by) {
      const from = rows.indexOf(row);
      const to = from + by;
      if (to < 0 || to >= rows.length) return;
      rows.splice(from, 1);
      rows.splice(to, 0, row);
      list.replaceChildren(...rows.map((item) => item.element));
      remember();
      drawMatrices();
      context.announce(`${row.title()} is row ${to + 1} of ${rows.length}.`);
    }

    function remove(row) {
      row.current.cancel();
      rows = rows.filter((item) => item !== row);
      row.element.remove();
      remember();
      paint();
      drawMatrices();
      context.announce(`${row.title()} removed.`);
    }

    function add() {
      const free = shelf.find((model) => !rows.some((row) => row.model.key === model.key)) || shelf[0];
      if (!free) return;
      const row = makeRow({ key: free.key, checkpoint: null });
      rows.push(row);
      list.append(row.element);
      remember();
      load(row);
      context.announce(`${row.title()} added.`);
    }

    // What the article stored of its own networks, at its own paragraph.
    const isStored = (row) => story.stored.some((model) => model.key === row.model.key);
    function addStored() {
      const missing = story.stored.filter((model) => !rows.some((row) => row.model.key === model.key));
      for (const { key } of missing) {
        const row = makeRow({ key, checkpoint: null });
        rows.push(row);
        list.append(row.element);
      }
      if (text.trim() !== story.text) {
        field.set(story.text);
        setText(story.text, START.at);
      } else missing.forEach((_, index) => load(rows[rows.length - missing.length + index]));
      remember();
      context.announce(`${missing.length} rows added: the article's own networks.`);
    }

    // Answers: the whole matrix comes at once, and moving over the text asks for nothing.
    async function load(row) {
      if (!text.trim()) {
        row.current.forget();
        waited();
        row.readout.textContent = "Type a text above.";
        return;
      }
      if (chosen.ask === "word" && !chosen.word) return;
      const body = { model: row.model.key, checkpoint: row.model.checkpoint, text };
      for (const name of ASKED) body[name] = chosen[name];
      if (chosen.ask === "word") body.word = chosen.word;
      if (!row.answer || row.current.held.question.text !== text) { // of another text nothing stays
        row.current.forget();
        row.text.set(...pending(text));
      }
      try {
        const answered = row.current.ask(body);
        waited();
        const got = await answered;
        if (!got) return;
        take(row, got);
        context.clear();
      } catch (error) {
        row.text.set(...pending(text));
        if (WRONG.includes(error.status)) row.readout.textContent = error.message; // this model, with this question
        else context.fail(error);
      }
      waited();
    }

    // What is awaited is told, and what is drawn from it outside of the rows looks old too.
    function waited() {
      for (const row of rows) row.waiting.hidden = !row.area.hasAttribute("aria-busy");
      const old = rows.some((row) => !row.waiting.hidden);
      for (const part of [matrices.element, numbers]) part.setAttribute("aria-busy", String(old));
    }

    function take(row, { question, answer }) {
      row.matrix = new Matrix(answer, question.norm);
      row.text.set(answer.symbols, answer.words, answer.changed);
      row.notes.textContent = answer.notes.join(" ");
      row.notes.hidden = !answer.notes.length;
      paint();
      drawMatrices();
    }

    const loadAll = () => rows.forEach(load);

    // Colors.
    const size = () => Math.max(0, ...rows.map((row) => (row.answer ? row.answer.symbols.length : 0)));

    function paint() {
      for (const row of rows) paintRow(row);
      rows.forEach(tell);
      legend = meaning();
      bar.update(legend);
      matrices.mark();
      walk.compare((cell, place) => ranked(cell, place));
    }

    // Where the first row with a trained network of this cell has the word that is typed there.
    function ranked(cell, place) {
      const live = (row) => row.answer && !isStored(row) && shelf.find(({ key }) => key === row.of().key)?.cell === cell;
      const row = rows.find((one) => live(one) && one.current.held.question.ask === "text" && one.current.held.question.text.trim() === story.text);
      return row ? { title: titled(row), rank: row.answer.ranks[place], chance: row.answer.chances[place] } : null;
    }

    // Moving.
    function go(place, quiet = true) {
      const last = size() - 1;
      at = Math.max(0, Math.min(last < 0 ? place : last, place));
      reading = null;
      paint();
      keep();
      if (!quiet) say();
    }

    function read(place) {
      if (!pinned && place !== null) return;
      reading = place;
      rows.forEach(tell);
    }

    function press(place) {
      pin(!(pinned && place === at));
      go(place);
    }

    function pin(on) {
      pinned = on;
      list.classList.toggle("pinned", on);
      hint.textContent = on ? "Pinned: point at other characters to read their values. Click again or press Escape to let go." : "Point at a character, tap it, or use the arrow keys. Click to pin it.";
    }

    function key(event, row) {
      if (event.key === "Escape" && pinned) {
        pin(false);
        keep();
        return true;
      }
      if (event.key === "Enter" || event.key === " ") {
        pin(!pinned);
        keep();
        return true;
      }
      if (!row.answer) return false;
      if (event.shiftKey) { // read a value elsewhere, the output stays
        const to = moved(event, reading === null ? at : reading, row.answer.symbols.length);
        if (to === undefined) return false;
        reading = to;
        rows.forEach(tell);
        context.announce(`${row.title()}: ${row.readout.textContent}`);
        return true;
      }
      const to = moved(event, at, row.answer.symbols.length);
      if (to === undefined) return false;
      go(to, false);
      return true;
    }

    const say = debounce(() => {
      const parts = rows.filter((row) => row.answer).map((row) => `${titled(row)}: ${row.answer.suggested[placeIn(row)].slice(0, 2).map(named).join(", ")}; ${row.target.textContent}`);
      context.announce(parts.join(". "));
    }, 350);
    const keep = debounce(() => {
      remember();
      if (numbers.open) table();
    }, 150);

    function remember() {
      const values = { text, at, pin: pinned ? "1" : "", models: rows.map((row) => modelName(row.model)).join(",") };
      for (const [name, { values: known }] of Object.entries(OPTIONS)) values[name] = chosen[name] === known[0][0] ? "" : chosen[name];
      values.word = chosen.ask === "word" ? chosen.word : "";
      values.walk = walk.current() === null ? "" : walk.current() + 1;
      context.state.set(values);
      alike.textContent = trainedAlike(shelf, rows.map((row) => row.model));
    }

    // The full matrix, one picture per model, and the numbers of the chosen character as a table.
    const matrices = matrixPanel({ place: placeIn, press });
    const titled = (row) => titleOf(row.of(), shelf);
    function drawMatrices() {
      matrices.draw(chosen.view === "matrix" ? rows.filter((row) => row.matrix) : [], chosen.scale, titled, signed);
      if (numbers.open) table();
    }

    const numbers = h("details", { class: "numbers answers", ontoggle: () => numbers.open && table() }, h("summary", {}, "The chosen character's numbers as a table"));
    function table() {
      const ready = rows.filter((row) => row.matrix);
      if (!ready.length) {
        fill(numbers, numbers.firstChild);
        return;
      }
      const made = numbersTable(ready, titled, along(), placeIn);
      fill(numbers, numbers.firstChild, made);
      made.scrollTop = Math.max(0, made.querySelectorAll("tbody tr")[Math.min(at, ready[0].answer.symbols.length - 1)].offsetTop - 160);
    }

    // Controls.
    const field = textField({ label: "Text", value: "", wait: 350, rows: 3, characters: () => rows.some((row) => unitOf(shelf, row.model) !== "word"), onchange: (value) => setText(value) });
    function setText(value, place) {
      if (value === text && place === undefined) return;
      const fresh = value !== text;
      text = value;
      if (place === undefined) {
        walk.leave();
        pin(false); // to a place of the text before
      }
      if (fresh && value.trim() !== story.text) rows.filter(isStored).forEach(remove); // nothing is stored of another text
      at = place === undefined ? Math.max(0, value.length) : place;
      if (fresh) loadAll();
      else paint();
      remember();
    }

    const wordInput = h("input", { type: "text", maxlength: 80, size: 12, "aria-label": "The word that is asked about", value: chosen.word, hidden: chosen.ask !== "word" });
    const setWord = debounce(() => {
      chosen.word = wordInput.value.trim().toLowerCase();
      remember();
      loadAll();
    }, 350);
    wordInput.addEventListener("input", setWord);

    function choose(name, value) {
      chosen[name] = value;
      wordInput.hidden = chosen.ask !== "word";
      remember();
      if (name === "ask" && value === "word" && !chosen.word) wordInput.focus();
      else if (ASKED.includes(name)) loadAll();
      else paint();
      drawMatrices();
    }

    const controls = Object.entries(OPTIONS).map(([name, { label, values }]) => {
      const made = select(values, chosen[name], (value) => choose(name, value));
      made.id = `connectivity-${name}`;
      return h("div", { class: "field" }, h("label", { for: made.id }, label), made, name === "ask" && wordInput);
    });
    const walk = guidedWalk({
      onplace: (story, place) => {
        field.set(story);
        pin(true);
        setText(story, place);
        list.scrollIntoView({ block: "nearest" });
      },
      onstep: () => remember(),
      announce: context.announce,
    });
    const list = h("div", { class: "text-rows" });
    const bar = colorBar();
    const hint = h("p", { class: "hint" });
    const alike = h("p", { class: "hint alike" });
    const adding = h("button", { type: "button", class: "quiet", onclick: add }, "Add a model");
    const addingStored = h("button", { type: "button", class: "quiet", disabled: true, onclick: addStored }, "Add the article's own networks");

    fill(
      root,
      h("p", { class: "lead-in" }, "A prediction rests on what was read before. Choose a character: the earlier ones are shaded by how strongly the model's output there depends on them."),
      h("div", { class: "beside" }, walk.element, h("div", {},
        field.element,
        h("details", { class: "options", open: Object.keys(OPTIONS).some((name) => given[name]) }, h("summary", {}, "What is shown and measured"), h("div", { class: "controls" }, controls)),
        h("div", { class: "legend-line" }, bar.element, hint),
        alike,
        list,
        h("div", { class: "under-rows" }, adding, addingStored),
        matrices.element,
        numbers)),
    );
    pin(pinned);
    paint();
    ends.push(onTheme(() => paint()));

    async function start() {
      const listed = await context.models();
      story = await context.api.get("/api/connectivity/walk");
      shelf = [...listed, ...story.stored];
      addingStored.disabled = false;
      walk.set(story, given.walk ? Number(given.walk) - 1 : null, at);
      let asked = (given.models || "").split(",").filter(Boolean).map(parseModel);
      if (!asked.length && shelf.length) {
        const first = shelf.filter((model) => model.kind === shelf[0].kind && model.group === shelf[0].group).slice(0, START.models);
        const own = ({ cell, kind }) => (text === undefined && kind === "autocomplete" ? story.stored.filter((model) => model.cell === cell) : []); // each beside the article's
        asked = first.flatMap((model) => [model, ...own(model)]).map(({ key }) => ({ key, checkpoint: null }));
      }
      const kind = shelf.find((model) => asked.length && model.key === asked[0].key)?.kind;
      if (text === undefined && kind === "sequence") {
        text = (await context.api.post("/api/connectivity/symbols", { model: asked[0].key })).example;
        at = text.length;
      }
      text ??= story.text;
      field.set(text);
      rows = asked.map(makeRow);
      field.count();
      list.replaceChildren(...rows.map((row) => row.element));
      alike.textContent = trainedAlike(shelf, asked);
      loadAll();
    }
    start().catch(context.fail);

    return {
      unmount() {
        rows.forEach((row) => row.current.cancel());
        [field, keep, say, setWord].forEach((part) => part.cancel());
        matrices.destroy();
        ends.forEach((end) => end());
      },
      data() {
        const columns = ["model", "output", "output_symbol", "asked", "rank", "probability", "input", "input_symbol", "value"];
        const found = rows.filter((row) => row.matrix).flatMap((row) => {
          const { symbols, asked, ranks, chances, causal } = row.answer;
          return symbols.flatMap((symbol, output) => symbols.slice(0, causal ? output + 1 : undefined).map((other, input) => [modelName(row.of()), output, symbol, asked[output], ranks[output], chances[output], input, other, row.matrix.at(output, input)]));
        });
        return { columns, rows: found };
      },
      svg() {
        if (chosen.view === "matrix") return matrices.picture();
        const shown = rows.filter((row) => row.matrix).map((row) => ({
          title: titled(row), note: `${row.answer.suggested[placeIn(row)].map((word, index) => `${named(word)} ${chance(row.answer.suggested_chances[placeIn(row)][index])}`).join(" · ")}  |  ${row.target.textContent}`,
          symbols: row.answer.symbols, words: row.answer.words, colors: row.colors, marked: placeIn(row),
        }));
        return textPicture(shown, { bar: legend });
      },
    };
  },
};
