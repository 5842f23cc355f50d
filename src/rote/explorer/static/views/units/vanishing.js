// The vanishing gradient, to play with: by a rule whose factor can be set, or as it is measured in a network.
import { answering } from "../../lib/answering.js";
import { field, fill, h, number, percent, select } from "../../lib/dom.js";
import { floats } from "../../lib/matrix.js";
import { shade } from "../../lib/shades.js";
import { show, unrolled } from "./unrolled.js";

const CHARACTERS = 24; // of the text, its last ones
const LAYERS = 2; // of the rule
const NETWORKS = [
  ["rule", "a rule: each arrow keeps this share"], ["elman", "Elman network, untrained"], ["gru", "GRU, untrained"], ["lstm", "LSTM, untrained"],
  ["nested_lstm", "Nested LSTM, untrained"], ["model", "the model chosen below"],
];

export function vanishingFigure(context, given, asked) {
  let network = NETWORKS.some(([name]) => name === given.flow) ? given.flow : "rule";
  let factor = Math.max(0.4, Math.min(1.2, Number(given.factor) || 0.8));
  let at = null; // the output; null: the last
  const area = h("div", {});
  const drawing = h("div", { class: "scroll drawing", tabindex: 0, role: "region", "aria-label": "The network, drawn out" });
  const told = h("p", { class: "heat-readout", role: "status" });
  const current = answering(area, (signal, body) => context.api.post("/api/units/gradient", body, { signal }), () => fill(drawing));
  const range = h("input", { type: "range", min: 0.4, max: 1.2, step: 0.01, oninput: (event) => {
    factor = Number(event.target.value);
    remember();
    draw();
  } });
  range.value = factor;
  const said = h("output", {});
  const place = h("input", { type: "range", min: 0, step: 1, oninput: (event) => choose(Number(event.target.value)) });
  const ruled = field("Share that is kept", range);
  const element = h(
    "section", { class: "panel", "aria-label": "The vanishing gradient" },
    h("h2", {}, "The vanishing gradient"),
    h("p", { class: "hint" }, "Point at a character: how much of the gradient of its output arrives at each earlier state (all that a unit carries on, hidden state and memory together). What is lost on every arrow is lost many times over."),
    h("div", { class: "controls" }, field("Gradient", select(NETWORKS, network, (value) => {
      network = value;
      remember();
      load();
    })), ruled, said, field("Output at character", place)),
    area,
  );
  fill(area, current.waiting, drawing, told);

  const symbols = () => (network === "rule" ? [...` ${asked().text}`].slice(-CHARACTERS) : current.held ? current.held.answer.symbols : []);
  const remember = () => context.state.set({ flow: network === "rule" ? "" : network, factor: factor === 0.8 ? "" : factor });

  // |d loss / d states| of a layer at a step, relative to the top layer's at the output itself.
  function reach() {
    const last = symbols().length - 1;
    const output = at === null ? last : Math.min(at, last);
    if (network === "rule") return { output, layers: LAYERS, value: (layer, step) => (step > output ? 0 : factor ** (output - step + LAYERS - 1 - layer)) };
    const { layers } = current.held.answer;
    const size = symbols().length;
    const value = (layer, step) => current.values[(output * layers + layer) * size + step];
    const own = value(layers - 1, output) || 1;
    return { output, layers, value: (layer, step) => value(layer, step) / own };
  }

  function draw() {
    ruled.hidden = said.hidden = network !== "rule";
    said.textContent = `× ${factor.toFixed(2)}`;
    if (network !== "rule" && !current.held) return;
    const names = symbols();
    const { output, layers, value } = reach();
    place.max = names.length - 1;
    place.value = output;
    place.setAttribute("aria-valuetext", `character ${output + 1}, ${names[output] === " " ? "space" : names[output]}`);
    let most = 0;
    for (let step = 0; step <= output; step += 1) for (let layer = 0; layer < layers; layer += 1) most = Math.max(most, value(layer, step));
    fill(drawing, unrolled({
      symbols: names, layers, chosen: output, pick: choose,
      colors: (layer, step) => (step > output ? null : shade(value(layer, step) / (most || 1), false)),
      active: (layer, step) => step <= output && value(layer, step) > 0.01,
      note: (layer, step) => (step > output ? "after the output: nothing arrives" : `layer ${layer + 1}, ${output - step} steps back: ${number(value(layer, step))}`),
      label: `A network of ${layers} layers over ${names.length} characters, shaded by the gradient of the output at character ${output + 1}`,
    }));
    show(drawing, output);
    const lags = [1, 5, 10, 20].filter((lag) => lag <= output);
    const left = lags.map((lag) => `${lag} back ${percent(value(layers - 1, output - lag), 2)}`);
    told.textContent = left.length ? `Of the gradient at the output's own state, in layer ${layers}: ${left.join(", ")}.` : "Choose a later character to see how far it reaches.";
    element.dataset.network = network;
  }

  function choose(step) {
    if (step === at) return;
    at = step;
    draw();
  }

  async function load() {
    const { text, model } = asked();
    if (network === "rule") {
      current.cancel();
      draw();
      return;
    }
    const body = { model: model.key, checkpoint: model.checkpoint, text: text.slice(-CHARACTERS) };
    if (network !== "model") body.untrained = network;
    try {
      const got = await current.ask(body);
      if (!got) return;
      current.values = floats(got.answer.values);
      draw();
    } catch (error) {
      context.fail(error);
    }
  }

  return {
    element,
    draw,
    load,
    changed() { // another text or model
      at = null;
      load();
    },
    cancel: () => current.cancel(),
    data() {
      if (network !== "rule" && !current.held) return [];
      const { output, layers, value } = reach();
      return Array.from({ length: layers }, (_, layer) => symbols().slice(0, output + 1).map((symbol, step) => [network, output, layer + 1, step, symbol, value(layer, step)])).flat();
    },
  };
}
