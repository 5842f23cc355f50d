// What the views on texts share: the field for the text, the choice of a model and of its checkpoint.
import { debounce, h, percent, select, uniqueId } from "./dom.js";

const GROUPS = [["yours", "Yours"], ["bundled", "Bundled"], ["store", "In the store"], ["article", "The article's own, of its paragraph"]]; // of models
const LIMIT = 400; // symbols that the server reads (reading.py)

// A probability; a small one is not shown as none.
export function chance(value) {
  return value > 0 && value < 0.0005 ? "<0.1%" : percent(value);
}

// A text field with a counter; onchange comes when typing pauses (wait: milliseconds). Nothing is cut off: a text that is
// too long is told, by the counter and by what the server answers. characters(): whether characters are what is counted.
export function textField({ label, value, wait, onchange, rows = 3, characters = () => true }) {
  const id = uniqueId("field");
  const counter = h("span", { class: "counter", id: `${id}-count` });
  const area = h("textarea", {
    id, rows, spellcheck: "false", autocomplete: "off", autocapitalize: "none", "aria-describedby": `${id}-count`, value,
    disabled: true, // until it has its first text, which would replace what was typed before
  });
  const count = () => {
    const size = [...area.value].length; // as the server counts: an emoji is one
    const over = characters() && size > LIMIT;
    counter.textContent = `${size}${characters() ? ` of ${LIMIT}` : ""} characters${over ? `: too long by ${size - LIMIT}` : ""}`;
    counter.classList.toggle("over", over);
  };
  const typed = (on) => area.closest(".view")?.classList.toggle("typed", on); // what is shown is of the text before
  const take = () => {
    typed(false);
    onchange(area.value);
  };
  const later = debounce(take, wait);
  area.addEventListener("input", () => {
    if (/[\r\n]/.test(area.value)) area.value = area.value.replace(/[\r\n]+/g, " "); // pasted lines
    count();
    typed(true);
    later();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    later.cancel();
    take();
  });
  count();
  return {
    element: h("div", { class: "field text-field" }, h("div", { class: "text-label" }, h("label", { for: id }, label), counter), area),
    area,
    set(text) {
      later.cancel();
      typed(false);
      area.disabled = false;
      area.value = text;
      count();
    },
    count, // again, for another model
    cancel: later.cancel,
  };
}

// A select of the shelf, and a slider over the steps of training at which the model was kept.
export function modelPicker({ shelf, chosen, onchange, label }) {
  const model = () => shelf.find((candidate) => candidate.key === chosen.key);
  const slot = h("span", { class: "checkpoint" });
  const about = h("small", { class: "model-about" }); // its size, and how it was trained
  const choice = select([], chosen.key, (key) => {
    chosen = { key, checkpoint: null };
    slider();
    onchange(chosen);
  }, { "aria-label": label });
  const option = (item) => h("option", { value: item.key, selected: item.key === chosen.key }, item.title);
  for (const [group, name] of GROUPS) {
    const members = shelf.filter((item) => item.group === group);
    if (members.length) choice.append(h("optgroup", { label: name }, members.map(option)));
  }
  if (!model()) choice.append(option({ key: chosen.key, title: `${chosen.key} (not here)` }));

  function slider() {
    const steps = (model() && model().checkpoints) || [];
    about.textContent = (model() && model().about) || "";
    slot.replaceChildren();
    if (!steps.length) return;
    const last = steps.length; // the trained model, after all checkpoints
    const now = chosen.checkpoint === null ? last : Math.max(0, steps.indexOf(chosen.checkpoint));
    const said = h("output", {});
    const tell = (index) => (said.textContent = index === last ? "trained" : `step ${steps[index]}`);
    const later = debounce(() => onchange(chosen), 120);
    const range = h("input", {
      type: "range", min: 0, max: last, step: 1, "aria-label": `Step of training: ${label}`, oninput: (event) => {
        const index = Number(event.target.value);
        chosen = { key: chosen.key, checkpoint: index === last ? null : steps[index] };
        tell(index);
        later();
      },
    });
    range.value = now;
    tell(now);
    slot.append(range, said);
  }

  slider();
  return h("span", { class: "picker" }, choice, slot, about);
}
