// The recurrent playground: small networks that learn a task in time on the server, several seeds side by side; one of
// them unrolled over an item, with its states and gates and with how far its loss reaches back.
import { onTheme } from "../lib/color.js";
import { field, fill, h, number, percent, select, svg } from "../lib/dom.js";
import { Past, summary } from "../lib/plane_settings.js";
import { training } from "../lib/training.js";
import { transportOf } from "../lib/transport.js";
import { curvesOf } from "./recurrent/curves.js";
import { insideOf } from "./recurrent/inside.js";
import { localTraining } from "./recurrent/local.js";
import { TASKS, fromLink, toLink } from "./recurrent/settings.js";

const BASE = "/api/recurrent";
const CELLS = ["elman", "gru", "lstm"]; // until the server has named all of them

export const view = {
  name: "recurrent",
  title: "Recurrent playground",
  mount(root, given) {
    const context = given.api.recorded ? { ...given, api: localTraining(given.api) } : given;
    const link = context.state.get();
    const settings = fromLink(link);
    const past = new Past();
    const open = { job: null, playing: false, plays: 0, speed: Number(link.speed) || 1, frame: null, version: 0, task: null, back: null, changes: [], gone: false };
    const look = { network: Number(link.network) || 0, item: Number(link.item) || 0, at: link.at ? Number(link.at) : null };
    const seen = () => (open.back === null ? open.frame : past.frames[Math.min(open.back, past.frames.length - 1)]);

    const { begin, recall, change, play, pause, playAnew, step, reset, leave, lookAgain, ask } = training(BASE, context, settings, open, past, {
      looking: () => look, decode() {}, shown: paint, told: () => transport.tell(open.playing), remember, spoken, waits: (on) => [cards, bench].forEach((part) => part.setAttribute("aria-busy", on)),
    });
    const transport = transportOf({ reset, back, step, toggle: () => (open.playing ? pause() : play()) });
    const curves = curvesOf(past);
    const inside = insideOf({
      pick(at) {
        look.at = at;
        open.back = null;
        lookAgain();
      },
    });

    function back() {
      if (open.playing) pause();
      open.back = Math.max(0, (open.back ?? past.frames.length - 1) - 1);
      paint();
    }

    function forward() {
      if (open.back === null) return step();
      open.back = open.back >= past.frames.length - 2 ? null : open.back + 1;
      return paint();
    }

    // ---- the permalink: everything that begins these networks; the step, if they were not changed on the way
    let rememberLater = 0;
    function remember() {
      clearTimeout(rememberLater);
      rememberLater = setTimeout(() => {
        const whole = open.frame && !open.playing && !open.changes.length && open.frame.step <= 10000;
        context.state.set({
          ...toLink(settings), speed: open.speed === 1 ? "" : open.speed, step: whole && open.frame.step ? open.frame.step : "",
          network: look.network || "", item: look.item || "", at: look.at ?? "",
        });
      }, 150);
    }

    // ---- what can be set
    const set = (key) => (value) => {
      settings[key] = typeof settings[key] === "number" ? Number(value) : value;
      if (key === "task" || key === "length" || key === "pairs") Object.assign(look, { item: 0, at: null });
      shape();
      change();
    };
    const choice = (key, values, title = String) => {
      const known = values.some((value) => String(value) === String(settings[key])) ? values : [...values, settings[key]];
      return select(known.map((value) => [String(value), title(value)]), String(settings[key]), set(key));
    };
    const length = h("input", { type: "range", min: 1, max: 12, step: 1, value: settings.length, oninput: (event) => set("length")(event.target.value) });
    const lengthField = field("Length", length, { class: "field slider" });
    const pairs = h("textarea", { rows: 6, spellcheck: "false", value: settings.pairs, onchange: (event) => set("pairs")(event.target.value) });
    const pairsField = field("Own pairs: input = answer, one in a line; new ones behind a line of dashes", pairs, { class: "field wide" });
    const cell = select([...new Set([...CELLS, settings.cell])].map((name) => [name, name]), settings.cell, set("cell"));
    const seedField = h("input", { type: "number", min: 0, max: 2147483647, value: settings.seed, onchange: (event) => set("seed")(Math.max(0, Math.floor(Number(event.target.value) || 0))) });
    let listed = 0;

    function shape() {
      const [, , counted] = TASKS.find(([name]) => name === settings.task) ?? TASKS[0];
      lengthField.hidden = settings.task === "own";
      pairsField.hidden = settings.task !== "own";
      lengthField.firstChild.textContent = `${counted}: ${settings.length}`;
      length.setAttribute("aria-valuetext", `${settings.length} ${counted}`);
    }

    // ---- what is shown
    const counter = h("output", { class: "counter", "aria-label": "Step" }, "0");
    const about = h("p", { class: "about-view" }, " ");
    const waiting = h("p", { class: "loading" }, "Making the networks …");
    const cards = h("div", { class: "cards answers", role: "group", "aria-label": "Networks, one for each seed" });
    const item = h("select", { onchange: (event) => {
      Object.assign(look, { item: Number(event.target.value), at: null });
      open.back = null;
      lookAgain();
    } });
    const lookBack = h("input", { type: "range", min: 0, max: 0, step: 1, value: 0, oninput: (event) => {
      const at = Number(event.target.value);
      if (open.playing) pause();
      open.back = at >= past.frames.length - 1 ? null : at;
      paint();
    } });
    const note = h("p", { class: "hint changes", hidden: true });
    const reach = h("p", { class: "hint" }, " ");

    let painting = 0;
    function paint() {
      painting ||= requestAnimationFrame(() => {
        painting = 0;
        draw();
      });
    }

    let items = null; // whose items the list holds
    function lists() {
      if (open.task === items) return;
      items = open.task;
      const option = ({ symbols }, index) => h("option", { value: index }, symbols.join(symbols.some((text) => text.length > 1) ? " " : ""));
      const { known, new: fresh } = items;
      fill(item, h("optgroup", { label: "known" }, known.map(option)), fresh.length > 0 && h("optgroup", { label: `new: ${items.new_are}` }, fresh.map((row, index) => option(row, known.length + index))));
      about.textContent = `${items.title}: ${known.length} known items, ${fresh.length} new ones (${items.new_are}). ${items.parameters.toLocaleString("en")} weights in each network.`;
      if (listed !== items.cells.length) {
        listed = items.cells.length;
        fill(cell, items.cells.map((name) => h("option", { value: name, selected: name === settings.cell }, name)));
      }
    }

    function draw() {
      const frame = seen();
      if (!frame || !open.task || open.gone) return;
      lists();
      waiting.hidden = true;
      bench.hidden = false;
      counter.textContent = frame.step.toLocaleString("en");
      lookBack.max = past.frames.length - 1;
      lookBack.value = open.back ?? past.frames.length - 1;
      lookBack.setAttribute("aria-valuetext", `step ${frame.step}`);
      const share = (value) => (value === null ? "–" : percent(value, 0));
      fill(cards, frame.train.map((loss, place) => h("button", {
        type: "button", class: "seed-card", "aria-pressed": String(place === (frame.inside?.network ?? look.network)), onclick: () => {
          look.network = place;
          lookAgain();
        },
      }, h("b", {}, `Seed ${settings.seed + place}`), h("span", {}, `known ${share(frame.accuracy.known[place])}`), h("span", {}, `new ${share(frame.accuracy.new[place])}`), h("span", { class: "quiet-number" }, `loss ${number(loss, 2)}`))));
      if (frame.inside) {
        item.value = frame.inside.item;
        inside.draw(open.task, frame.inside);
        const first = frame.inside.gradient[0];
        const last = frame.inside.gradient.at(-1);
        reach.textContent = `Loss at step ${frame.inside.at + 1}, answer ${open.task.answers[frame.inside.target]}: over ${frame.inside.at} steps the gradient goes from ${number(last, 2)} to ${number(first, 2)}${last ? ` (${number(first / last, 2)} of it)` : ""}.${frame.inside.products ? "" : " The states are too many, over so many steps, for their Jacobians to be multiplied at every frame: choose an earlier step, or fewer units."}`;
      }
      note.hidden = !open.changes.length;
      if (open.changes.length) note.textContent = `The learning rate was changed on the way, first at step ${open.changes[0]}. Reset to run the present one from the start.`;
      curves.update(frame.inside);
      root.dataset.step = frame.step;
      root.dataset.version = frame.version;
    }

    function spoken() {
      if (!open.frame) return "";
      const [known, fresh] = ["known", "new"].map((kind) => summary(open.frame.accuracy[kind])[0]);
      return `Step ${open.frame.step}. Known items right: ${percent(known ?? 0, 0)}.${fresh === null ? "" : ` New items right: ${percent(fresh, 0)}.`}`;
    }

    async function saveScript() {
      const answer = await ask("script", {});
      if (!answer) return;
      const url = URL.createObjectURL(new Blob([answer.script], { type: "text/x-python" }));
      h("a", { href: url, download: "rote_network.py" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      context.announce("Saved rote_network.py.");
    }

    const bench = h("div", { class: "bench answers", hidden: true },
      h("section", { class: "panel", "aria-labelledby": "recurrent-inside" }, h("h2", { id: "recurrent-inside" }, "Unrolled"), field("Item", item),
        h("p", { class: "hint" }, "From top to bottom: what is asked, what the network says, what it reads; the state handed on, and what is left of the gradient on its way back. Click a step to put the loss there."), inside.steps, inside.maps),
      h("div", { class: "charts" }, h("section", { class: "panel", "aria-labelledby": "recurrent-back" }, h("h2", { id: "recurrent-back" }, "Backpropagation through time"), reach, curves.back.element),
      h("section", { class: "panel", "aria-label": "Loss over training" }, h("h2", {}, "Loss"), curves.loss.element),
      h("section", { class: "panel", "aria-label": "Accuracy over training" }, h("h2", {}, "Share right"), curves.accuracy.element)));

    // ---- the page
    fill(
      root,
      about,
      h("div", { class: "transport" },
        transport.element,
        h("div", { class: "step-box" }, h("span", { class: "label" }, "step"), counter),
        field("Updates per frame", select([1, 4, 16, 64].map((value) => [String(value), String(value)]), String(open.speed), (value) => {
          open.speed = Number(value);
          remember();
          playAnew();
        })),
        field("Look back", lookBack, { class: "field slider" }),
        h("button", { type: "button", class: "quiet spare", onclick: saveScript }, "PyTorch script")),
      h("div", { class: "transport settings" },
        field("Task", choice("task", TASKS.map(([name]) => name), (name) => TASKS.find(([key]) => key === name)?.[1] ?? name)), lengthField,
        field("Cell", cell), field("Units", choice("units", [2, 4, 8, 16, 32, 64])),
        field("Learning rate", choice("learning_rate", [0.001, 0.003, 0.01, 0.03, 0.1])),
        field("Batch", choice("batch", [4, 16, 64]), { class: "field spare" }), field("Networks", choice("seeds", [1, 2, 3, 4, 5, 6])), field("First seed", seedField, { class: "field spare" }), pairsField),
      note,
      cards,
      waiting,
      bench,
      h("p", { class: "hint" }, "Lines are means over the networks, bands go from the smallest to the largest. Keys: space plays and pauses, the arrows step and go back, R resets."),
    );
    shape();
    transport.tell(false);

    function keys(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
      const within = (selector) => event.target instanceof Element && event.target.closest(selector);
      if (within("input, select, textarea, [contenteditable]")) return;
      if (event.key === " " && !within("button, a, summary")) open.playing ? pause() : play();
      else if (event.key === "ArrowRight" && !within("[tabindex='0'], nav")) forward();
      else if (event.key === "ArrowLeft" && !within("[tabindex='0'], nav")) back();
      else if (event.key.toLowerCase() === "r") reset();
      else return;
      event.preventDefault();
    }
    const hidden = () => document.hidden && open.playing && pause();
    const left = () => leave();
    document.addEventListener("keydown", keys);
    document.addEventListener("visibilitychange", hidden);
    window.addEventListener("pagehide", left);
    const ends = [onTheme(paint), () => document.removeEventListener("keydown", keys), () => document.removeEventListener("visibilitychange", hidden), () => window.removeEventListener("pagehide", left)];
    if (context.api.recorded) recall();
    else begin(Math.min(10000, Math.max(0, Number(link.step) || 0)));

    return {
      unmount() {
        open.gone = true;
        open.plays += 1;
        clearTimeout(rememberLater);
        cancelAnimationFrame(painting);
        curves.destroy();
        inside.destroy();
        ends.forEach((end) => end());
        leave();
      },
      data() {
        const columns = ["step", "seed", "loss known", "loss new", "right known", "right new"];
        const rows = past.frames.flatMap((frame) => frame.train.map((_, place) => [frame.step, settings.seed + place, frame.loss.known[place], frame.loss.new[place], frame.accuracy.known[place], frame.accuracy.new[place]]));
        return { columns, rows };
      },
      // In a file the networks go on where they are now.
      async keep(keep) {
        keep(`${BASE}/past`, {}, { frames: past.frames, task: open.task, changes: open.changes });
        if (context.api.recorded) return;
        keep(`${BASE}/whole`, {}, await context.api.post(`${BASE}/whole`, { job: open.job }));
        await context.api.get(`${BASE}/tasks`);
      },
      svg() {
        let top = 0;
        const parts = curves.svgs().map((chart) => {
          const copy = chart.cloneNode(true);
          copy.setAttribute("y", top);
          top += chart.viewBox.baseVal.height + 12;
          return copy;
        });
        const pictures = inside.pictures().map(([name, href], index) => svg("g", { transform: `translate(${(index % 3) * 220}, ${top + Math.floor(index / 3) * 200})` }, svg("text", { y: 14, "font-size": 12, fill: "var(--ink)" }, name), svg("image", { y: 20, width: 200, height: 160, preserveAspectRatio: "none", href })));
        const tall = top + Math.ceil(pictures.length / 3) * 200;
        return svg("svg", { width: 680, height: tall, viewBox: `0 0 680 ${tall}`, role: "img", "aria-label": "Curves, and the states and gates of one network" }, parts, pictures);
      },
    };
  },
};
