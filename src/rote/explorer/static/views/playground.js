// The playground: networks on the plane, trained on the server, step by step; several seeds side by side.
import { category, negative, onTheme, positive } from "../lib/color.js";
import { lineChart } from "../lib/chart.js";
import { field, fill, h, number, percent, select, svg } from "../lib/dom.js";
import { bytes, drawNetwork, drawPanel, layout, probability } from "../lib/plane.js";
import { DEFAULTS, ORDER, PRESETS, Past, QUADRANTS, fromLink, presetOf, summary, toLink } from "../lib/plane_settings.js";

const SIDE = 40; // points per side of a field
const UNIT_SIDE = 16; // and of a unit's
const NODE = 34; // pixels
const CURVES_EVERY = 150; // milliseconds between two drawings of the curves while it plays
const CURVES_AFTER = 25; // and after the panels, which are painted first
const MEASURES = {
  loss: { title: "Loss", label: "cross entropy, nats", axis: { from: 0 } },
  accuracy: { title: "Share right", label: "share right", axis: { from: 0, to: 1 } },
};
const BITS = {
  given: { title: "I(X; Y | the other X), bits", label: "bits", axis: { from: 0 } },
  alone: { title: "I(X; Y), bits", label: "bits", axis: { from: 0 } },
  gradient: { title: "Sensitivity |dY / dX|", label: "mean norm", axis: { from: 0 } },
};
const BASE = "/api/playground";

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
    const ends = [];

    // ---- asking the server
    const post = (route, body) => context.api.post(`${BASE}/${route}`, { focus: open.focus, ...body });

    // New networks; up to a step in portions that grow, so that the curves have a past.
    async function begin(until = 0) {
      stopPlaying();
      try {
        const answer = await post("start", { settings });
        if (open.gone) return leave(answer.job);
        Object.assign(open, { job: answer.job, version: 0, changes: [], frame: null });
        past.clear();
        take(answer);
        for (let at = 0; at < until && !open.gone; ) {
          const updates = Math.min(until - at, Math.max(1, Math.ceil(at / 6)));
          take(await post("step", { job: open.job, updates }));
          at += updates;
        }
      } catch (error) {
        if (!open.gone) context.fail(error);
      }
      return null;
    }

    // In a file: what was there when it was written. Training needs a server.
    async function recall() {
      try {
        const kept = await context.api.post(`${BASE}/past`, {});
        open.job = "recorded";
        open.changes = kept.changes;
        kept.frames.forEach((frame) => take({ frame, points: kept.points }));
      } catch (error) {
        context.fail(error);
      }
    }

    // A request about the running job; one that has ended meanwhile is begun again.
    async function ask(route, body) {
      try {
        if (!open.job) throw Object.assign(new Error("not begun"), { status: 404 });
        return await post(route, { job: open.job, ...body });
      } catch (error) {
        if (error.status === 404 && !open.gone) {
          await begin();
          context.announce("The networks had ended and were started again.");
        } else context.fail(error);
        return null;
      }
    }

    // Only one change is under way; of those that come meanwhile the newest counts.
    let changing = false;
    let waiting = false;
    async function change() {
      remember();
      waiting = true;
      if (changing) return;
      changing = true;
      while (waiting) {
        waiting = false;
        const answer = await ask("change", { settings });
        if (answer && answer.restarted) {
          past.clear();
          open.changes = [];
        } else if (answer && answer.frame.step > 0) open.changes.push(answer.frame.step);
        if (answer) take(answer);
      }
      changing = false;
    }

    async function play() {
      if (open.playing) return;
      open.playing = true;
      live();
      transport();
      const mine = (open.plays += 1);
      try {
        if (!open.job) await begin();
        open.playing = true;
        transport();
        for await (const frame of context.api.stream(`${BASE}/play`, { job: open.job, updates: open.speed, focus: open.focus })) {
          if (open.gone) break;
          if (mine === open.plays) take({ frame }); // else the server is about to end this stream: to cut it off would end the job
        }
      } catch (error) {
        if (error.status === 404) await begin();
        else if (!open.gone) context.fail(error);
      }
      if (mine === open.plays) stopPlaying();
    }

    function stopPlaying() {
      open.playing = false;
      transport();
    }

    async function pause() {
      if (!open.playing) return;
      open.plays += 1;
      stopPlaying();
      const answer = await ask("pause", {});
      if (answer) take(answer);
      remember();
      context.announce(spoken());
    }

    // While it plays, another speed or another network in focus: the stream begins anew.
    function playAnew() {
      if (!open.playing) return;
      open.plays += 1;
      open.playing = false;
      play();
    }

    async function step() {
      if (open.playing) return pause();
      live();
      const answer = await ask("step", { updates: open.speed });
      if (answer) take(answer);
      remember();
      return context.announce(spoken());
    }

    async function reset() {
      const again = open.playing;
      if (again) {
        open.plays += 1;
        stopPlaying();
        await ask("pause", {});
      }
      context.clear?.();
      live();
      past.clear();
      open.changes = [];
      const answer = await ask("reset", {});
      if (answer) take(answer);
      remember();
      if (again) play();
      else context.announce("Reset to step 0.");
    }

    function leave(job = open.job) {
      if (job) context.api.send(`${BASE}/stop`, { job });
    }

    // ---- what came
    function take({ frame, points }) {
      if (frame.version < open.version || (frame.version === open.version && open.frame && frame.step < open.frame.step)) return;
      if (open.frame && frame.version > open.version && frame.step < open.frame.step) past.clear();
      frame.field = bytes(frame.image);
      open.version = frame.version;
      open.frame = frame;
      if (points) open.points = points;
      past.add(frame);
      paint();
    }

    let painting = 0;
    function paint() {
      painting ||= requestAnimationFrame(() => {
        painting = 0;
        draw();
      });
    }

    const seen = () => (open.back === null ? open.frame : past.frames[Math.min(open.back, past.frames.length - 1)]);
    const word = () => (settings.redundancy < 1 ? "left out" : "unseen"); // X2 without its label falls there, too
    const unseen = () => ORDER.filter((name) => !settings.combinations.includes(name));

    function live() {
      open.back = null;
    }

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
    const glyph = (path) => svg("svg", { viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true", fill: "currentColor" }, svg("path", { d: path }));
    const GLYPHS = { play: "M8 5v14l11-7z", pause: "M6 5h4v14H6zm8 0h4v14h-4z", step: "M6 5l9 7-9 7zM16 5h3v14h-3z", reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z" };
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

    const set = (key) => (value) => {
      settings[key] = typeof DEFAULTS[key] === "number" ? Number(value) : value;
      change();
    };
    const choice = (key, values, title = String) => {
      const known = values.some((value) => String(value) === String(settings[key])) ? values : [...values, settings[key]].sort((a, b) => a - b);
      return select(known.map((value) => [String(value), title(value)]), String(settings[key]), set(key));
    };
    const slider = (label, key, low, high, by, text) => {
      const shown = h("output", {}, text(settings[key]));
      const input = h("input", {
        type: "range", min: low, max: high, step: by, value: settings[key], oninput: (event) => {
          settings[key] = Number(event.target.value);
          shown.textContent = text(settings[key]);
          input.setAttribute("aria-valuetext", text(settings[key]));
          if (key === "redundancy") choices();
          change();
        },
      });
      input.setAttribute("aria-valuetext", text(settings[key]));
      const made = field(label, input, { class: "field slider" });
      made.firstChild.append(" ", shown);
      return made;
    };

    // ---- data
    const preset = select([...PRESETS.map(([name, title]) => [name, title]), ["own", "A choice of your own"]], presetOf(settings), (name) => {
      const found = PRESETS.find(([key]) => key === name);
      if (found) Object.assign(settings, structuredClone(found[2]));
      controls();
      change();
    });
    const sample = h("canvas", { class: "sample", "aria-hidden": "true" });
    const toggles = QUADRANTS.map(({ name, where, labels }) => h("button", {
      type: "button", class: `quadrant q${name}`, "data-quadrant": name, "aria-label": `Training shows the quadrant ${where}, ${labels}`,
      onclick: () => {
        const chosen = ORDER.filter((other) => (other === name) !== settings.combinations.includes(other));
        if (!chosen.length) return context.announce("Training needs at least one quadrant.");
        settings.combinations = chosen;
        choices();
        return change();
      },
    }, h("span", { class: "seen-mark", "aria-hidden": "true" })));
    const data = h("div", { class: "stack" });
    const network = h("div", { class: "stack" });

    // ---- the networks
    const drawing = h("canvas", { class: "picture", role: "img", "aria-label": "Network" });
    const reading = h("p", { class: "reading" }, " ");
    const layers = h("div", { class: "layers", role: "group", "aria-label": "Units of each hidden layer" });
    const depth = h("span", { class: "depth" });
    const panels = h("div", { class: "panels", role: "group", "aria-label": "Networks, one for each seed" });
    const lookBack = h("input", {
      type: "range", min: 0, max: 0, step: 1, value: 0, oninput: (event) => {
        const at = Number(event.target.value);
        open.back = at >= past.frames.length - 1 ? null : at;
        if (open.playing) pause();
        paint();
      },
    });
    const note = h("p", { class: "hint changes", hidden: true });
    let cards = [];

    function controls() {
      fill(
        data,
        slider("X2 follows its label", "redundancy", 0, 1, 0.05, (value) => percent(value, 0)),
        slider("Noise", "noise", 0, 0.5, 0.01, (value) => number(value, 2)),
        slider("Batch", "batch", 1, 50, 1, String),
        field("Points", choice("points", [0, 25, 50, 100, 250, 500], (value) => (value ? `${value} fixed` : "fresh for each update"))),
      );
      choices();
      fill(
        network,
        field("Activation", choice("activation", ["relu", "tanh", "sigmoid", "linear"], (name) => ({ relu: "ReLU" })[name] ?? name)),
        field("Learning rate", choice("learning_rate", [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10])),
        field("Regularization", choice("regularization", ["none", "l1", "l2"], (name) => (name === "none" ? "none" : name.toUpperCase()))),
        field("Strength", choice("strength", [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1])),
      );
      sizes();
    }

    function choices() {
      preset.value = presetOf(settings);
      toggles.forEach((toggle) => {
        const on = settings.combinations.includes(toggle.dataset.quadrant);
        toggle.setAttribute("aria-pressed", String(on));
        toggle.firstChild.textContent = on ? "seen" : word();
      });
    }

    function sizes() {
      const { hidden } = settings;
      const resize = (next) => () => {
        settings.hidden = next;
        const focused = document.activeElement?.getAttribute?.("aria-label");
        sizes();
        layers.querySelector(`[aria-label="${focused}"]`)?.focus();
        change();
      };
      depth.textContent = `${hidden.length} hidden layer${hidden.length === 1 ? "" : "s"}`;
      fewer.disabled = !hidden.length;
      more.disabled = hidden.length >= 6;
      fewer.onclick = resize(hidden.slice(0, -1));
      more.onclick = resize([...hidden, hidden.at(-1) ?? 4]);
      fill(layers, h("span", { class: "layer" }, "inputs"), hidden.map((count, layer) => {
        const sized = (to) => resize(hidden.map((size, index) => (index === layer ? to : size)));
        return h("span", { class: "layer" },
          h("button", { type: "button", class: "tiny", "aria-label": `Fewer units in layer ${layer + 1}`, disabled: count <= 1, onclick: sized(count - 1) }, "−"),
          h("span", {}, String(count)),
          h("button", { type: "button", class: "tiny", "aria-label": `More units in layer ${layer + 1}`, disabled: count >= 16, onclick: sized(count + 1) }, "+"));
      }), h("span", { class: "layer" }, "classes"));
    }
    const fewer = h("button", { type: "button", class: "tiny", "aria-label": "Remove a layer" }, "−");
    const more = h("button", { type: "button", class: "tiny", "aria-label": "Add a layer" }, "+");

    function card(place) {
      const canvas = h("canvas", { role: "img" });
      const title = h("span", { class: "name" });
      const scores = h("span", { class: "scores" });
      const frameOf = h("button", { type: "button", class: "seed-card", onclick: () => focusOn(place) }, canvas, title, scores);
      canvas.addEventListener("pointermove", (event) => point(event, place, canvas));
      canvas.addEventListener("pointerleave", () => (reading.textContent = " "));
      return { canvas, title, scores, element: frameOf };
    }

    async function focusOn(place) {
      if (place === open.focus) return;
      open.focus = place;
      remember();
      if (open.playing) return playAnew();
      const answer = await ask("step", { updates: 0 });
      if (answer) take(answer);
      return null;
    }

    function point(event, place, canvas) {
      const box = canvas.getBoundingClientRect();
      const [right, up] = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
      const index = (share) => Math.max(0, Math.min(SIDE - 1, Math.floor(share * SIDE)));
      const frame = seen();
      if (!frame) return;
      const value = probability(frame.field[place * SIDE * SIDE + index(right) * SIDE + index(up)]);
      reading.textContent = `Seed ${settings.seed + place}: at X1 = ${number(right * 2 - 1, 2)}, X2 = ${number(up * 2 - 1, 2)} the probability of class 1 is ${number(value, 2)}.`;
    }

    // ---- curves
    const lossChart = lineChart({ x: { label: "updates" }, y: { label: "" }, height: 230, legend: true });
    const bitsChart = lineChart({ x: { label: "updates" }, y: { label: "" }, height: 230, legend: true });
    ends.push(() => lossChart.destroy(), () => bitsChart.destroy());

    function over(name, pick, color, dash) {
      const rows = past.frames.map((frame) => [frame.step, ...summary(pick(frame))]);
      return { name, color, dash, points: rows.map(([x, mean]) => [x, mean]), band: rows.filter((row) => row[1] !== null).map(([x, , low, high]) => [x, low, high]) };
    }

    let curvesAt = 0;
    let curvesLater = 0;
    function curves() {
      clearTimeout(curvesLater);
      curvesLater = setTimeout(drawCurves, Math.max(CURVES_AFTER, open.playing ? CURVES_EVERY - (performance.now() - curvesAt) : 0));
    }

    function drawCurves() {
      curvesAt = performance.now();
      const out = unseen();
      const measure = MEASURES[open.measure];
      const quadrants = QUADRANTS.map(({ name, where }, index) => over(
        `${where}${out.includes(name) ? ` (${word()})` : ""}`, (frame) => frame[open.measure].map((row) => row[ORDER.indexOf(name)]), category([0, 1, 2, 6][index]), out.includes(name) ? "5 3" : "",
      ));
      const training = open.measure === "loss" ? [{ ...over("training", (frame) => frame.train, "var(--ink)", ""), band: null }] : [];
      lossChart.update({ series: [...training, ...quadrants], y: { label: measure.label, ...measure.axis } });
      const bits = BITS[open.bits];
      bitsChart.update({
        series: [over("X1, decides the class", (frame) => frame[open.bits].map((row) => row[0]), category(1), ""), over("X2, redundant", (frame) => frame[open.bits].map((row) => row[1]), category(0), "5 3")],
        y: { label: bits.label, ...bits.axis },
      });
    }

    // ---- drawing
    function draw() {
      const frame = seen();
      if (!frame || open.gone) return;
      const count = frame.train.length;
      if (cards.length !== count) {
        cards = Array.from({ length: count }, (_, place) => card(place));
        fill(panels, cards.map((item) => item.element));
        panels.style.setProperty("--across", String(Math.min(count, 2)));
        root.classList.toggle("many", count > 4);
        if (open.focus >= count) open.focus = count - 1;
        measured = null;
      }
      measure();
      counter.textContent = frame.step.toLocaleString("en");
      lookBack.max = past.frames.length - 1;
      lookBack.value = open.back ?? past.frames.length - 1;
      lookBack.setAttribute("aria-valuetext", `step ${frame.step}`);
      cards.forEach((item, place) => drawCard(item, place, frame));
      drawSample();
      drawFocus(frame);
      note.hidden = !open.changes.length;
      if (open.changes.length) note.textContent = `Settings were changed on the way, first at step ${open.changes[0]}. Reset to run the present ones from the start.`;
      curves();
      root.dataset.step = frame.step;
      root.dataset.version = frame.version;
    }

    // Read once for each size of the page: to read it between two changes would lay the page out again each time.
    let measured = null;
    function measure() {
      measured ??= { card: cards[0]?.canvas.clientWidth || 150, sample: sample.clientWidth || 180, width: drawing.clientWidth || 400, height: drawing.clientHeight || 300 };
    }

    const fieldOf = (frame, place) => frame.field.subarray(place * SIDE * SIDE, (place + 1) * SIDE * SIDE);

    function drawCard(item, place, frame) {
      drawPanel(item.canvas, measured.card, { field: fieldOf(frame, place), side: SIDE, points: open.shown ? open.points[place] : null, shown: settings.combinations });
      const [inside, outside] = scoresOf(frame, place);
      const told = `${inside === null ? "" : `seen ${percent(inside, 0)}`}${outside === null ? "" : ` · ${word()} ${percent(outside, 0)}`}`;
      item.title.textContent = `seed ${settings.seed + place}`;
      item.scores.textContent = frame.train[place] === null ? "diverged" : told;
      item.canvas.setAttribute("aria-label", `Seed ${settings.seed + place} at step ${frame.step}: quadrants right, ${frame.train[place] === null ? "diverged" : told}`);
      item.element.setAttribute("aria-pressed", String(place === open.focus));
    }

    // Mean share right over the quadrants that training shows, and over the others; null where there are none.
    function scoresOf(frame, place) {
      const mean = (names) => (names.length ? summary(names.map((name) => frame.accuracy[place][ORDER.indexOf(name)]))[0] : null);
      return [mean(settings.combinations), mean(unseen())];
    }

    function drawSample() {
      drawPanel(sample, measured.sample, { field: null, side: SIDE, points: open.points[open.focus], shown: ORDER });
    }

    function drawFocus(frame) {
      if (!frame.network) {
        drawing.setAttribute("aria-label", "The network is drawn at the latest step only.");
        return;
      }
      const { network: shown } = frame;
      const whole = fieldOf(frame, shown.place);
      const at = (index) => Math.min(SIDE - 1, Math.floor(((index + 0.5) / UNIT_SIDE) * SIDE));
      shown.output = Uint8Array.from({ length: UNIT_SIDE ** 2 }, (_, index) => whole[at(Math.floor(index / UNIT_SIDE)) * SIDE + at(index % UNIT_SIDE)]);
      const { width, height } = measured;
      const counts = [2, ...shown.biases.map((bias) => bias.length)];
      open.nodes = layout(counts, width, height, NODE);
      drawNetwork(drawing, width, height, shown, open.nodes, UNIT_SIDE);
      drawing.setAttribute("aria-label", `Network of seed ${settings.seed + shown.place}: ${counts.join(", ")} units from inputs to classes; links as wide as their weights`);
    }

    drawing.addEventListener("pointermove", (event) => {
      const shown = seen()?.network;
      if (!shown || !open.nodes) return;
      const box = drawing.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      open.nodes.forEach((column, layer) => column.forEach((node, place) => {
        if (x < node.x - 2 || x > node.x + node.size + 2 || y < node.y - 2 || y > node.y + node.size + 2 || layer === 0) return;
        const from = shown.weights[layer - 1].map((row) => row[place]);
        const weights = from.map((weight) => number(weight, 2)).join(", ");
        const what = layer === open.nodes.length - 1 ? `Class ${place}` : `Layer ${layer}, unit ${place + 1}`;
        reading.textContent = `${what}: bias ${number(shown.biases[layer - 1][place], 2)}; weights ${weights}.`;
      }));
    });

    function spoken() {
      const frame = open.frame;
      if (!frame) return "";
      const [loss] = summary(frame.train);
      const outside = summary(frame.train.map((_, place) => scoresOf(frame, place)[1]).filter((value) => value !== null));
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
            curves();
          })), lossChart.element),
        h("section", { class: "panel", "aria-label": "Information in each input" },
          field("Information in each input", select(Object.entries(BITS).map(([name, { title }]) => [name, title]), open.bits, (value) => {
            open.bits = value;
            remember();
            curves();
          })), bitsChart.element)),
      h("p", { class: "hint" }, "Lines are means over the networks, bands go from the smallest to the largest. Keys: space plays and pauses, arrow right steps, R resets."),
    );
    controls();
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
      measured = null;
      paint();
    });
    sized.observe(root);
    const hidden = () => document.hidden && open.playing && pause();
    document.addEventListener("visibilitychange", hidden);
    const left = () => leave();
    window.addEventListener("pagehide", left);
    ends.push(onTheme(paint), () => sized.disconnect(), () => document.removeEventListener("keydown", keys), () => document.removeEventListener("visibilitychange", hidden), () => window.removeEventListener("pagehide", left));
    if (context.api.recorded) recall();
    else begin(Math.min(10000, Math.max(0, Number(link.step) || 0)));

    return {
      unmount() {
        open.gone = true;
        open.plays += 1;
        clearTimeout(curvesLater);
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
      svg: () => exported(cards, lossChart.svg(), bitsChart.svg()),
    };
  },
};

// The panels as images, the curves below them.
function exported(cards, ...charts) {
  const [edge, gap] = [180, 16];
  const across = Math.min(4, Math.max(1, cards.length));
  const wide = Math.max(across * (edge + gap) + gap, ...charts.map((chart) => chart.viewBox.baseVal.width));
  let top = Math.ceil(cards.length / across) * (edge + 44) + gap;
  const parts = cards.map((item, index) => {
    const [x, y] = [gap + (index % across) * (edge + gap), gap + Math.floor(index / across) * (edge + 44)];
    const label = { x, "font-size": 12, fill: "var(--ink)", "font-family": "var(--sans)" };
    return svg("g", {}, svg("image", { x, y, width: edge, height: edge, href: item.canvas.toDataURL() }), svg("text", { ...label, y: y + edge + 16 }, `${item.title.textContent}: ${item.scores.textContent}`));
  });
  for (const chart of charts) {
    const copy = chart.cloneNode(true);
    copy.setAttribute("y", top);
    parts.push(copy);
    top += chart.viewBox.baseVal.height + gap;
  }
  return svg("svg", { width: wide, height: top, viewBox: `0 0 ${wide} ${top}`, role: "img", "aria-label": "Decision boundaries and curves over training" }, parts);
}
