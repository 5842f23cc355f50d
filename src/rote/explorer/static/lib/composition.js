// The field in which a composition is typed: table names are completed, what is wrong is said in place.
import { h, uniqueId } from "./dom.js";

// What stands under the caret, and what could stand there.
function completion(text, caret, task) {
  const start = text.lastIndexOf(" ", caret - 1) + 1;
  const typed = text.slice(start, caret);
  const first = !text.slice(0, start).trim();
  const names = Object.keys(task.tables);
  const all = first ? Object.keys(task.tables[names[0]]) : [...names, task.end];
  return { start, typed, options: all.filter((name) => name.startsWith(typed)) };
}

// What is wrong with a composition; null: nothing.
export function problem(text, task) {
  const symbols = text.trim().split(/\s+/).filter(Boolean);
  if (symbols.at(-1) === task.end) symbols.pop();
  const names = Object.keys(task.tables);
  const sample = `${"0".repeat(task.bits)} ${names[0]} ${names[1] ?? names[0]} ${task.end}`;
  if (!symbols.length) return `Type ${task.bits} bits and then tables, as in “${sample}”.`;
  const [input, ...tables] = symbols;
  if (!(input in task.tables[names[0]])) return `A composition begins with ${task.bits} bits, as in “${sample}”; “${input}” is none.`;
  const wrong = tables.findIndex((name) => !(name in task.tables));
  if (wrong >= 0) return `“${tables[wrong]}” is not a table: they are ${names[0]} to ${names.at(-1)}.`;
  if (!tables.length) return `After the input comes at least one table, as in “${sample}”.`;
  if (tables.length > task.longest) return `At most ${task.longest} tables; these are ${tables.length}.`;
  return null;
}

export function compositionField(task, text, onchange) {
  const [listId, errorId, id] = [uniqueId("options"), uniqueId("problem"), uniqueId("composition")];
  const list = h("ul", { id: listId, class: "options", role: "listbox", "aria-label": "Symbols", hidden: true });
  const error = h("p", { id: errorId, class: "mistake", "aria-live": "polite" });
  const input = h("input", {
    id, type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": listId, "aria-autocomplete": "list", "aria-describedby": errorId,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "400", value: text,
  });
  let found = { options: [] };
  let active = -1;
  let later = 0;

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function offer() {
    found = completion(input.value, input.selectionStart ?? input.value.length, task);
    const whole = found.options.length === 1 && found.options[0] === found.typed;
    if (!found.options.length || whole) return close();
    active = -1;
    list.replaceChildren(...found.options.map((name, index) => h("li", {
      id: `${listId}-${index}`, role: "option", "aria-selected": "false",
      onpointerdown: (event) => {
        event.preventDefault(); // the focus stays in the field
        accept(index);
      },
    }, name)));
    list.hidden = false;
    return input.setAttribute("aria-expanded", "true");
  }

  function mark(index) {
    const items = [...list.children];
    active = (index + items.length) % items.length;
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === active)));
    items[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[active].id);
  }

  function accept(index) {
    const name = found.options[index];
    const rest = input.value.slice(found.start + found.typed.length);
    const ends = name === task.end;
    input.value = `${input.value.slice(0, found.start)}${name}${rest.startsWith(" ") || ends ? "" : " "}${rest}`;
    const caret = Math.min(input.value.length, found.start + name.length + 1);
    input.setSelectionRange(caret, caret);
    changed();
    if (ends) close();
    else offer();
  }

  function changed(patient = false) {
    clearTimeout(later);
    const wrong = problem(input.value, task);
    const say = () => {
      error.textContent = wrong ?? "";
      input.toggleAttribute("aria-invalid", Boolean(wrong));
      if (wrong) input.setAttribute("aria-invalid", "true");
    };
    if (wrong && patient) later = setTimeout(say, 700); // somebody may be in the middle of a name
    else say();
    if (!wrong) onchange(input.value.trim());
  }

  input.addEventListener("input", () => {
    offer();
    changed(true);
  });
  input.addEventListener("focus", offer);
  input.addEventListener("click", offer);
  input.addEventListener("blur", () => {
    close();
    changed();
  });
  input.addEventListener("keydown", (event) => {
    const open = !list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!open) offer();
      if (!list.hidden) mark(active < 0 ? (event.key === "ArrowDown" ? 0 : -1) : active + (event.key === "ArrowDown" ? 1 : -1));
      event.preventDefault();
    } else if (event.key === "Enter" || (event.key === "Tab" && open && active >= 0)) {
      event.preventDefault();
      if (open && active >= 0) accept(active);
      else {
        close();
        changed();
      }
    } else if (event.key === "Escape" && open) {
      close();
      event.preventDefault();
    }
  });
  return {
    element: h("div", { class: "field wide composition" }, h("label", { for: id }, "Composition"), h("div", { class: "combo" }, input, list), error),
    input,
    set(value) {
      input.value = value;
      changed();
    },
    about(next) {
      task = next;
      changed();
    },
  };
}
