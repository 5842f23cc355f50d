// Lookup tables: a composition, what a baseline and a guided model make of it, and how.
import { answering } from "../lib/answering.js";
import { divergingRgb, sequentialRgb } from "../lib/color.js";
import { compositionField } from "../lib/composition.js";
import { field, fill, h, number, percent, select, svg } from "../lib/dom.js";
import { labelledHeat } from "../lib/labelled_heat.js";

const BASE = "/api/lookup";
const KINDS = ["baseline", "guided"];
const TITLES = { baseline: "Baseline", guided: "Guided" };
const AGAIN = 700; // milliseconds until the functional groups are asked for again
const SPLITS = {
  train: ["in training", "Training shows this composition."],
  validation: ["unseen input", "Training shows these tables together, but not with this input."],
  heldout_inputs: ["unseen input", "Training shows these tables together, but not with this input."],
  heldout_compositions: ["unseen composition", "Training shows these tables in other compositions, never together like this."],
  heldout_tables: ["unseen together", "One of these tables training shows only alone, never in a composition."],
  new_compositions: ["new tables", "All of these tables training shows only alone, never in a composition."],
  longer_seen: ["longer", "Longer than anything in training, of tables that it composes."],
  longer_incremental: ["longer", "Longer than anything in training, with tables that it shows only alone."],
  longer_new: ["longer", "Longer than anything in training, of tables that it shows only alone."],
};
const SHORTCUTS = ["train", "heldout_inputs", "heldout_compositions", "heldout_tables", "new_compositions", "longer_seen"];

export const view = {
  name: "lookup",
  title: "Lookup tables",
  mount(root, context) {
    const link = context.state.get();
    const chosen = {
      models: link.models || "bundled", seed: link.seed ? Number(link.seed) : null, composition: link.composition || "", part: link.part === "decoder" ? "decoder" : "encoder",
      of: link.of || "update", units: link.units || "number", label: link.label === "time step" ? "time step" : "table",
    };
    let pairs = [];
    let task = null;
    let answer = null;
    let groups = null;
    let gone = false;
    let typing = null;
    const ends = [];

    const which = () => ({ models: chosen.models, ...(chosen.seed === null ? {} : { seed: chosen.seed }) });
    const remember = () => context.state.set({
      models: chosen.models === "bundled" ? "" : chosen.models, seed: chosen.seed ?? "", composition: chosen.composition, part: chosen.part === "encoder" ? "" : chosen.part,
      of: chosen.of === "update" ? "" : chosen.of, units: chosen.units === "number" ? "" : chosen.units, label: chosen.label === "table" ? "" : chosen.label,
    });

    // ---- asking the server
    const results = h("div", { hidden: true });
    const current = answering(results, (signal, question) => context.api.post(`${BASE}/ask`, question, { signal }), () => {
      answer = null;
      results.hidden = true;
    });

    async function ask(composition) {
      chosen.composition = composition;
      remember();
      try {
        const got = await current.ask({ ...which(), composition });
        if (!got || gone) return;
        answer = got.answer;
        results.hidden = false;
        context.clear?.();
        show();
      } catch (error) {
        context.fail(error);
      }
    }

    async function open() {
      groups = null;
      current.forget(); // it was of other models
      try {
        task = await context.api.post(`${BASE}/task`, which());
        if (gone) return;
        page();
        typing.set(chosen.composition || task.examples.heldout_compositions || task.examples.train);
        await findGroups(chosen.models, chosen.seed);
      } catch (error) {
        context.fail(error);
      }
    }

    async function findGroups(models, seed) {
      const wanted = () => !gone && chosen.models === models && chosen.seed === seed;
      while (wanted()) {
        const found = (await context.api.post(`${BASE}/groups`, which())).groups;
        if (!wanted()) return;
        groups = found;
        if (groups) break;
        await new Promise((done) => setTimeout(done, AGAIN));
      }
      if (!gone && answer) show(false);
    }

    async function start() {
      fill(root, h("p", { class: "loading" }, "Reading the models …"));
      try {
        pairs = (await context.api.get(`${BASE}/models`)).models;
        if (!gone) await open();
      } catch (error) {
        context.fail(error);
      }
    }

    // ---- the page
    const steps = h("div", { class: "steps-host" });
    const place = h("p", { class: "place" });
    const found = h("div", { class: "groups-host" });
    const pickers = h("div", { class: "controls" });
    const maps = Object.fromEntries(KINDS.map((kind) => [kind, {
      attention: labelledHeat({ label: `Attention of the ${kind} model`, read: (row, column) => readAttention(kind, row, column) }),
      activity: labelledHeat({ label: `Gates of the ${kind} model`, read: (row, column) => readActivity(kind, row, column) }),
    }]));
    ends.push(...KINDS.flatMap((kind) => [maps[kind].attention.destroy, maps[kind].activity.destroy]));

    function page() {
      const pair = pairs.find((item) => item.key === chosen.models);
      typing = compositionField(task, chosen.composition, ask);
      const shortcuts = SHORTCUTS.filter((name) => task.examples[name]);
      fill(
        root,
        h("p", { class: "about-view" }, "A composition applies tables one after the other and asks for every result on the way. The baseline learned from the answers alone; the guided model was also told which input to look at for each of them."),
        h("div", { class: "controls" },
          typing.element,
          field("Models", select(pairs.map((item) => [item.key, item.title]), chosen.models, (value) => {
            Object.assign(chosen, { models: value, seed: null });
            remember();
            open();
          })),
          pair && pair.seeds.length > 1 && field("Seed", select(pair.seeds.map((seed) => [String(seed), String(seed)]), String(task.seed), (value) => {
            chosen.seed = Number(value);
            remember();
            open();
          }))),
        h("div", { class: "shortcuts", role: "group", "aria-label": "Examples" }, h("span", { class: "label" }, "Try"),
          shortcuts.map((name) => h("button", { type: "button", class: "quiet", title: SPLITS[name][1], onclick: () => typing.set(task.examples[name]) }, SPLITS[name][0]))),
        current.waiting, results,
        h("details", { class: "tables" }, h("summary", {}, "The tables"), tables()),
      );
      fill(
        results, place, steps,
        h("section", { class: "panel", "aria-labelledby": "lookup-attention" }, h("h2", { id: "lookup-attention" }, "Attention"),
          h("p", { class: "hint" }, "Each row is an output, each column an input; dashed: where the guided model was told to look."),
          h("div", { class: "pair" }, KINDS.map((kind) => h("div", {}, h("h3", {}, TITLES[kind]), maps[kind].attention.element)))),
        h("section", { class: "panel", "aria-labelledby": "lookup-activity" }, h("h2", { id: "lookup-activity" }, "Gates, unit by unit"), pickers,
          h("div", { class: "pair" }, KINDS.map((kind) => h("div", {}, h("h3", {}, TITLES[kind]), maps[kind].activity.element))),
          h("p", { class: "hint" }, "▲ marks the units of the functional group chosen above.")),
        h("section", { class: "panel", "aria-labelledby": "lookup-groups" }, h("h2", { id: "lookup-groups" }, "Functional groups"), found),
      );
    }

    function tables() {
      const names = Object.keys(task.tables);
      const head = h("tr", {}, h("th", { scope: "col" }, "input"), names.map((name) => h("th", { scope: "col" }, name, task.alone.includes(name) ? " *" : "")));
      const rows = Object.keys(task.tables[names[0]]).map((input) => h("tr", {}, h("th", { scope: "row" }, input), names.map((name) => h("td", {}, task.tables[name][input]))));
      return h("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "The tables" }, h("table", {}, h("thead", {}, head), h("tbody", {}, rows)),
        h("p", { class: "hint" }, "* seen only alone in training"));
    }

    // ---- what came
    function show(aloud = true) {
      const [short, long] = SPLITS[answer.split];
      fill(place, h("strong", {}, short), ` ${long}`);
      showSteps();
      showPickers();
      for (const kind of KINDS) {
        maps[kind].attention.update({
          values: answer.models[kind].attention, rows: answer.models[kind].answers.map((best) => best[0].symbol), columns: answer.inputs, color: sequentialRgb,
          outlined: answer.right.map((_, row) => [row, row]), written: true, height: 30,
        });
        showActivity(kind);
      }
      showGroups();
      root.dataset.composition = answer.inputs.join(" ");
      const wrong = KINDS.map((kind) => `${TITLES[kind]}: ${verdict(kind)}`).join(". ");
      context.announce(aloud ? `${answer.inputs.join(" ")}. ${wrong}.` : "The functional groups were found.");
    }

    function verdict(kind) {
      const right = answer.models[kind].answers.filter((best, row) => best[0].symbol === answer.right[row]).length;
      return right === answer.right.length ? "all steps right" : `${right} of ${answer.right.length} steps right`;
    }

    function showSteps() {
      const cell = (kind, row) => {
        const best = answer.models[kind].answers[row];
        const right = best[0].symbol === answer.right[row];
        const others = best.slice(1).filter((item) => item.probability >= 0.005).map((item) => `${item.symbol} ${percent(item.probability, 0)}`).join(", ");
        return h("td", { class: right ? "right" : "wrong", title: others ? `then ${others}` : "" },
          h("span", { class: "symbol" }, best[0].symbol), h("span", { class: "mark", "aria-hidden": "true" }, right ? " ✓" : " ✗"), h("span", { class: "hidden" }, right ? " right" : " wrong"),
          h("span", { class: "sure" }, percent(best[0].probability, 0)));
      };
      const read = answer.inputs.slice(0, answer.right.length);
      fill(steps, h("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Steps" }, h("table", { class: "steps" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Step"), read.map((symbol, row) => h("th", { scope: "col" }, row ? `${symbol}` : "input", h("span", { class: "hidden" }, ` step ${row}`))), h("th", { scope: "col" }, "Sequence"))),
        h("tbody", {},
          h("tr", {}, h("th", { scope: "row" }, "Right"), answer.right.map((symbol) => h("td", {}, h("span", { class: "symbol" }, symbol))), h("td", {}, "")),
          KINDS.map((kind) => h("tr", {}, h("th", { scope: "row" }, TITLES[kind]), answer.right.map((_, row) => cell(kind, row)), h("td", {}, verdict(kind)))),
        ))));
    }

    // ---- gates
    const of = () => (chosen.of in answer.models.baseline.activity[chosen.part] ? chosen.of : "state");

    // The group of units that is marked: of the encoder its state's, of the decoder that gate's own.
    function groupOf(kind) {
      if (!groups) return null;
      const label = chosen.part === "decoder" ? "table" : chosen.label;
      return groups[kind].find((item) => item.part === chosen.part && item.label === label && (chosen.part === "encoder" || item.of === of())) ?? null;
    }

    function unitsOf(kind) {
      const count = answer.models[kind].activity[chosen.part][of()][0].length;
      const group = groupOf(kind)?.units ?? [];
      const all = Array.from({ length: count }, (_, unit) => unit);
      if (chosen.units === "group" && group.length) return group;
      if (chosen.units === "first") return [...group, ...all.filter((unit) => !group.includes(unit))];
      return all;
    }

    function showPickers() {
      const names = Object.keys(answer.models.baseline.activity[chosen.part]);
      const pick = (key) => (value) => {
        chosen[key] = value;
        remember();
        showPickers();
        KINDS.forEach(showActivity);
      };
      const focused = document.activeElement?.dataset?.pick;
      fill(
        pickers,
        field("Part", select([["encoder", "encoder"], ["decoder", "decoder"]], chosen.part, pick("part"), { "data-pick": "part" })),
        field("Shown", select(names.map((name) => [name, name === "state" ? "state" : `${name} gate`]), of(), pick("of"), { "data-pick": "of" })),
        field("Units", select([["number", "by number"], ["first", "functional group first"], ["group", "functional group only"]], chosen.units, pick("units"), { "data-pick": "units" })),
        chosen.part === "encoder" && field("Group that tells", select([["table", "the table"], ["time step", "the time step"]], chosen.label, pick("label"), { "data-pick": "label" })),
      );
      if (focused) pickers.querySelector(`[data-pick="${focused}"]`)?.focus();
    }

    function showActivity(kind) {
      const values = answer.models[kind].activity[chosen.part][of()];
      const units = unitsOf(kind);
      const group = groupOf(kind)?.units ?? [];
      maps[kind].activity.update({
        values: values.map((row) => units.map((unit) => row[unit])), rows: symbolsOf(kind), columns: units.map((unit) => (units.length <= 16 ? String(unit) : "")),
        color: of() === "state" ? divergingRgb : sequentialRgb, marks: units.map((unit, at) => (group.includes(unit) ? at : -1)).filter((at) => at >= 0), height: 22,
      });
    }

    // The encoder reads the inputs; the decoder says its answers.
    const symbolsOf = (kind) => (chosen.part === "encoder" ? answer.inputs : answer.models[kind].answers.map((best) => best[0].symbol));

    function readAttention(kind, row, column) {
      const { attention, answers } = answer.models[kind];
      return `To say ${answers[row][0].symbol} (step ${row}) it looks at ${answer.inputs[column]}: ${percent(attention[row][column])}.`;
    }

    function readActivity(kind, row, column) {
      const unit = unitsOf(kind)[column];
      const value = answer.models[kind].activity[chosen.part][of()][row][unit];
      const member = (groupOf(kind)?.units ?? []).includes(unit) ? ", in the functional group" : "";
      return `Unit ${unit}${member}: ${of() === "state" ? "state" : `${of()} gate`} ${number(value)} at ${symbolsOf(kind)[row]} (step ${row}).`;
    }

    // ---- functional groups
    function showGroups() {
      if (!groups) {
        fill(found, h("p", { class: "loading" }, "Looking for the units that tell the table and the time step, in all compositions …"));
        return;
      }
      const head = ["What is read", "from", ...KINDS.flatMap((kind) => [`${TITLES[kind]}: units`, "group", "all units"])];
      const rows = groups.baseline.map((one, index) => h("tr", {}, h("th", { scope: "row" }, one.label), h("td", {}, `${one.part} ${one.of === "state" ? "state" : `${one.of} gate`}`),
        KINDS.flatMap((kind) => {
          const group = groups[kind][index];
          return [h("td", { class: "group-size", title: `units ${group.units.join(", ")}` }, `${group.units.length} of ${group.of_units}`), h("td", {}, percent(group.group_accuracy, 0)), h("td", {}, percent(group.accuracy, 0))];
        })));
      fill(found, h("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Functional groups" }, h("table", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))),
        h("p", { class: "hint" }, `The fewest units, in the order of their weight, from which a linear classifier reads as much as 95 % of what it reads from all of them; guessing the most frequent gets ${percent(groups.baseline[0].majority, 0)} of the tables right.`));
    }

    start();
    return {
      unmount() {
        gone = true;
        current.cancel();
        ends.forEach((end) => end());
      },
      data() {
        const columns = ["model", "what", "step", "symbol", "place", "value"];
        if (!answer) return { columns, rows: [] };
        const rows = KINDS.flatMap((kind) => {
          const { answers, attention, activity } = answer.models[kind];
          const said = answers.map((best, row) => best[0].symbol);
          return [
            ...answer.right.map((symbol, row) => [kind, "right", row, symbol, null, null]),
            ...answers.map((best, row) => [kind, "answer", row, best[0].symbol, null, best[0].probability]),
            ...attention.flatMap((weights, row) => weights.map((weight, column) => [kind, "attention", row, said[row], column, weight])),
            ...activity[chosen.part][of()].flatMap((values, row) => values.map((value, unit) => [kind, `${chosen.part} ${of()}`, row, symbolsOf(kind)[row], unit, value])),
          ];
        });
        return { columns, rows };
      },
      svg: () => (answer ? exported() : null),
    };

    // Answers as text, attention and gates below them, model beside model.
    function exported() {
      const gap = 24;
      const text = (value, x, y, more) => svg("text", { x, y, "font-size": 13, fill: "var(--ink)", "font-family": "var(--sans)", ...more }, value);
      const parts = [text(answer.inputs.join(" "), gap, 24, { "font-weight": 600 })];
      let left = gap;
      let height = 0;
      for (const kind of KINDS) {
        const pictures = [maps[kind].attention.svg(), maps[kind].activity.svg()];
        parts.push(text(`${TITLES[kind]}: ${answer.models[kind].answers.map((best) => best[0].symbol).join(" ")} (${verdict(kind)})`, left, 48));
        let top = 64;
        for (const picture of pictures) {
          const copy = picture.cloneNode(true);
          copy.querySelector(".map-cursor").remove();
          copy.setAttribute("x", left);
          copy.setAttribute("y", top);
          parts.push(copy);
          top += picture.viewBox.baseVal.height + gap;
        }
        left += Math.max(...pictures.map((picture) => picture.viewBox.baseVal.width)) + gap;
        height = Math.max(height, top);
      }
      return svg("svg", { width: left, height, viewBox: `0 0 ${left} ${height}`, role: "img", "aria-label": `Lookup models on ${answer.inputs.join(" ")}` }, parts);
    }
  },
};
