// What can be set: the data that training shows, the network, the seeds.
import { field, fill, h, number, percent, select } from "../../lib/dom.js";
import { DEFAULTS, ORDER, PRESETS, QUADRANTS, presetOf } from "../../lib/plane_settings.js";

// change(): the settings are others now; word(): what a quadrant is called that training does not show.
export function controlsOf(settings, { change, word, announce }) {
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
      if (!chosen.length) return announce("Training needs at least one quadrant.");
      settings.combinations = chosen;
      choices();
      return change();
    },
  }, h("span", { class: "seen-mark", "aria-hidden": "true" })));
  const data = h("div", { class: "stack" });
  const network = h("div", { class: "stack" });

  const layers = h("div", { class: "layers", role: "group", "aria-label": "Units of each hidden layer" });
  const depth = h("span", { class: "depth" });
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

  controls();
  return { set, choice, preset, sample, toggles, data, network, layers, depth, fewer, more };
}
