// The playground: networks on the plane, trained on the server, step by step; several seeds side by side.
import { negative, onTheme, positive } from "../lib/color.js";
import { field, fill, h, number, percent, select, svg } from "../lib/dom.js";
import { bytes } from "../lib/plane.js";
import { ORDER, Past, fromLink, summary, toLink } from "../lib/plane_settings.js";
import { training } from "../lib/training.js";
import { boundariesOf } from "./playground/boundaries.js";
import { controlsOf } from "./playground/controls.js";
import { BITS, MEASURES, curvesOf } from "./playground/curves.js";

const BASE = "/api/playground";
const GLYPHS = { play: "M8 5v14l11-7z", pause: "M6 5h4v14H6zm8 0h4v14h-4z", step: "M6 5l9 7-9 7zM16 5h3v14h-3z", reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z" };
const glyph = (path) => svg("svg", { viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true", fill: "currentColor" }, svg("path", { d: path }));

export const view = {
  name: "playground",
  title: "Playground",
  mount(root, context) {
    const link = context.state.get();
    const settings = fromLink(link);
    const past = new Past();
    const open = {
      job: null, playing: false, plays: 0, speed: Number(link.speed) || 1, focus: Number(link.network) || 0, frame: null,
      version: 0, points: [], shown: true, back: null, measure: link.measure in MEASURES ? link.measure : "loss",
      bits: link.information in BITS ? link.information : "given", changes: [], gone: false,
    };
    const seen = () => (open.back === null ? open.frame : past.frames[Math.min(open.back, past.frames.length - 1)]);
    const word = () => (settings.redundancy < 1 ? "left out" : "unseen"); // X2 without its label falls there, too
    const unseen = () => ORDER.filter((name) => !settings.combinations.includes(name));

    const { begin, recall, change, play, pause, playAnew, step, reset, leave, lookAgain } = training(BASE, context, settings, open, past, {
      looking: () => ({ network: open.focus }), decode: (frame) => { frame.field = bytes(frame.image); }, shown: paint, told: transport, remember, spoken, waits,
    });
    const focusOn = (place) => {
      if (place === open.focus) return null;
      open.focus = place;
      return lookAgain();
    };
    const { set, choice, preset, sample, toggles, data, network, layers, depth, fewer, more } = controlsOf(settings, { change, word, announce: context.announce });
    const boundaries = boundariesOf(settings, open, sample, { seen, focusOn, unseen, word });
    const { drawing, reading, panels } = boundaries;
    const curves = curvesOf(open, past, { unseen, word });

    // ---- the permalink: everything that begins these networks; the step, if they were not changed on the way
    let rememberLater = 0; // a slider moves often, and browsers limit how often the address may change
    function remember() {
      clearTimeout(rememberLater);
      rememberLater = setTimeout(writeLink, 150);
    }

    function writeLink() {
      const whole = open.frame && !open.playing && !open.changes.length && open.frame.step <= 10000;
      context.state.set({
        ...toLink(settings), speed: open.speed === 1 ? "" : open.speed, network: open.focus || "", step: whole && open.frame.step ? open.frame.step : "",
        measure: open.measure === "loss" ? "" : open.measure, information: open.bits === "given" ? "" : open.bits,
      });
    }

    // ---- transport
    const buttons = {
      reset: h("button", { type: "button", class: "round", title: "Reset (R)", "aria-label": "Reset", onclick: reset }, glyph(GLYPHS.reset)),
      play: h("button", { type: "button", class: "round main", onclick: () => (open.playing ? pause() : play()) }),
      step: h("button", { type: "button", class: "round", title: "Step (arrow right)", "aria-label": "Step", onclick: step }, glyph(GLYPHS.step)),
    };
    const counter = h("output", { class: "counter", "aria-label": "Step" }, "0");

    function transport() {
      fill(buttons.play, glyph(open.playing ? GLYPHS.pause : GLYPHS.play));
      buttons.play.setAttribute("aria-label", open.playing ? "Pause" : "Play");
      buttons.play.title = open.playing ? "Pause (space)" : "Play (space)";
    }

    const lookBack = h("input", {
      type: "range", min: 0, max: 0, step: 1, value: 0, oninput: (event) => {
        const at = Number(event.target.value);
        open.back = at >= past.frames.length - 1 ? null : at;
        if (open.playing) pause();
        paint();
      },
    });
    const note = h("p", { class: "hint changes", hidden: true });

    const answers = [drawing, panels, ...curves.elements];
    answers.forEach((part) => part.classList.add("answers"));
    function waits(on) {
      answers.forEach((part) => part.setAttribute("aria-busy", on));
    }

    // ---- drawing
    let painting = 0;
    function paint() {
      painting ||= requestAnimationFrame(() => {
        painting = 0;
        draw();
      });
    }

    function draw() {
      const frame = seen();
      if (!frame || open.gone) return;
      root.classList.toggle("many", frame.train.length > 4);
      counter.textContent = frame.step.toLocaleString("en");
      lookBack.max = past.frames.length - 1;
      lookBack.value = open.back ?? past.frames.length - 1;
      lookBack.setAttribute("aria-valuetext", `step ${frame.step}`);
      boundaries.draw(frame);
      note.hidden = !open.changes.length;
      if (open.changes.length) note.textContent = `Settings were changed on the way, first at step ${open.changes[0]}. Reset to run the present ones from the start.`;
      curves.update();
      root.dataset.step = frame.step;
      root.dataset.version = frame.version;
    }

    function spoken() {
      const frame = open.frame;
      if (!frame) return "";
      const [loss] = summary(frame.train);
      const outside = summary(frame.train.map((_, place) => boundaries.scoresOf(frame, place)[1]).filter((value) => value !== null));
      return `Step ${frame.step}. Training loss ${number(loss)}.${outside[0] === null ? "" : ` Quadrants ${word()}, share right: ${percent(outside[0], 0)}.`}`;
    }

    // ---- the page
    const seedField = h("input", { type: "number", min: 0, max: 2147483647, value: settings.seed, onchange: (event) => set("seed")(Math.max(0, Math.floor(Number(event.target.value) || 0))) });
    fill(
      root,
      h("p", { class: "about-view" }, "The class of a point is the side of X1 = 0 on which it lies. Where training leaves a quadrant out, X2 looks informative too: a network that composes keeps its boundary upright (dashed), one that takes what it is offered bends it. Click the quadrants of the data to choose."),
      h("div", { class: "transport" },
        h("div", { class: "buttons", role: "group", "aria-label": "Training" }, buttons.reset, buttons.play, buttons.step),
        h("div", { class: "step-box" }, h("span", { class: "label" }, "step"), counter),
        field("Updates per frame", select([1, 4, 16, 64].map((value) => [String(value), String(value)]), String(open.speed), (value) => {
          open.speed = Number(value);
          remember();
          playAnew();
        })),
        field("Training shows", preset),
        field("Networks", choice("seeds", [1, 2, 3, 4, 5, 6, 7, 8])),
        field("First seed", seedField),
        h("button", { type: "button", class: "quiet", onclick: () => {
          seedField.value = settings.seed + settings.seeds;
          set("seed")(settings.seed + settings.seeds);
        } }, "New seeds"),
      ),
      h("div", { class: "bench" },
        h("section", { class: "panel data", "aria-labelledby": "playground-data" }, h("h2", { id: "playground-data" }, "Data"),
          h("div", { class: "square", role: "group", "aria-label": "Quadrants that training shows" }, sample, toggles),
          h("div", { class: "axes", "aria-hidden": "true" }, h("span", {}, "X1 →"), h("span", {}, "X2 ↑")), data),
        h("section", { class: "panel network", "aria-labelledby": "playground-network" },
          h("h2", { id: "playground-network" }, "Network ", h("span", { class: "deep" }, fewer, depth, more)),
          layers, drawing, reading, network),
        h("section", { class: "panel seeds", "aria-labelledby": "playground-seeds" },
          h("h2", { id: "playground-seeds" }, "Decision boundaries"), panels,
          h("p", { class: "key" }, h("span", { class: "end", style: { color: negative() } }, "■"), " class 0 ", h("span", { class: "ramp", "aria-hidden": "true" }), " class 1 ", h("span", { class: "end", style: { color: positive() } }, "■")),
          h("div", { class: "under" },
            field("Look back", lookBack, { class: "field slider" }),
            h("label", { class: "choice" }, h("input", { type: "checkbox", checked: true, onchange: (event) => {
              open.shown = event.target.checked;
              paint();
            } }), " training points"))),
      ),
      note,
      h("div", { class: "curves" },
        h("section", { class: "panel", "aria-label": "Curves of the quadrants" },
          field("Over training", select(Object.entries(MEASURES).map(([name, { title }]) => [name, `${title}: training and each quadrant`]), open.measure, (value) => {
            open.measure = value;
            remember();
            curves.update();
          })), curves.elements[0]),
        h("section", { class: "panel", "aria-label": "Information in each input" },
          field("Information in each input", select(Object.entries(BITS).map(([name, { title }]) => [name, title]), open.bits, (value) => {
            open.bits = value;
            remember();
            curves.update();
          })), curves.elements[1])),
      h("p", { class: "hint" }, "Lines are means over the networks, bands go from the smallest to the largest. Keys: space plays and pauses, arrow right steps, R resets."),
    );
    transport();

    // ---- keys, size, light and dark
    function keys(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
      const inside = (selector) => event.target instanceof Element && event.target.closest(selector);
      if (inside("input, select, textarea, [contenteditable]")) return;
      if (event.key === " " && !inside("button, a, summary")) open.playing ? pause() : play();
      else if (event.key === "ArrowRight" && !inside("[tabindex='0'], nav")) step();
      else if (event.key.toLowerCase() === "r") reset();
      else return;
      event.preventDefault();
    }
    document.addEventListener("keydown", keys);
    const sized = new ResizeObserver(() => {
      boundaries.resized();
      paint();
    });
    sized.observe(root);
    const hidden = () => document.hidden && open.playing && pause();
    document.addEventListener("visibilitychange", hidden);
    const left = () => leave();
    window.addEventListener("pagehide", left);
    const ends = [onTheme(paint), () => sized.disconnect(), () => document.removeEventListener("keydown", keys), () => document.removeEventListener("visibilitychange", hidden), () => window.removeEventListener("pagehide", left)];
    if (context.api.recorded) recall();
    else begin(Math.min(10000, Math.max(0, Number(link.step) || 0)));

    return {
      unmount() {
        open.gone = true;
        open.plays += 1;
        curves.destroy();
        clearTimeout(rememberLater);
        cancelAnimationFrame(painting);
        ends.forEach((end) => end());
        leave();
      },
      data() {
        const columns = ["step", "seed", "training loss", ...ORDER.map((name) => `loss ${name}`), ...ORDER.map((name) => `right ${name}`), ...["alone", "given", "gradient"].flatMap((name) => [`${name} X1`, `${name} X2`])];
        const rows = past.frames.flatMap((frame) => frame.train.map((loss, place) => [frame.step, settings.seed + place, loss, ...frame.loss[place], ...frame.accuracy[place], ...frame.alone[place], ...frame.given[place], ...frame.gradient[place]]));
        return { columns, rows };
      },
      keep(remember) {
        const frames = past.frames.map(({ field: _, network: shown, ...frame }, index) => (index === past.frames.length - 1 && shown ? { ...frame, network: { ...shown, output: undefined } } : frame));
        remember(`${BASE}/past`, {}, { frames, points: open.points, changes: open.changes });
      },
      svg: () => boundaries.svg(curves.svgs()),
    };
  },
};
