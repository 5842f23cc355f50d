// A text as the interface: every symbol can be pointed at, tapped, slid over, and reached by keys.
//
//   const text = glyphs({ label: "GRU", onpoint: (at) => {}, onpress: (at, event) => {}, onleave: () => {} });
//   text.set(symbols, words, changed); text.paint((at) => ["#fff", "#000"]); text.mark(at);
import { h, uniqueId } from "./dom.js";

const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10, PageUp: -50, PageDown: 50, Home: -Infinity, End: Infinity };

// The position that a key leads to, or undefined.
export function moved(event, at, size) {
  const by = KEYS[event.key];
  if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  return Math.max(0, Math.min(size - 1, at + by));
}

export function named(symbol) {
  return symbol === " " ? "space" : symbol;
}

// Some symbols as text. A space before them is that between words; every other one that a page would swallow is shown,
// and of single symbols (exact) that one too.
export function spelled(symbols, first, last, exact = false) {
  const letters = symbols.every((symbol) => symbol.length === 1);
  const text = symbols.slice(first, last + 1).join(letters ? "" : " ");
  if (text === " ") return "space";
  return (text.trim() && !exact ? text.replace(/^ /, "") : text).replace(/^ +| +$| (?= )/g, (spaces) => "␣".repeat(spaces.length));
}

export function glyphs({ label, multiple = false, onpoint, onpress, onleave, onkey, ondrag }) {
  const id = uniqueId("text");
  const element = h("div", {
    class: "glyphs", id, role: "listbox", tabindex: 0, "aria-label": label, "aria-orientation": "horizontal", "aria-multiselectable": multiple ? "true" : undefined,
  });
  let items = [];
  let painted = [];
  let marked = null;

  const place = (target) => {
    const item = target instanceof Element ? target.closest("[data-at]") : null;
    return item && element.contains(item) ? Number(item.dataset.at) : null;
  };
  const under = (event) => place(document.elementFromPoint(event.clientX, event.clientY));

  let dragging = null;
  element.addEventListener("pointerover", (event) => {
    const at = place(event.target);
    if (at !== null && event.pointerType !== "touch" && onpoint) onpoint(at, event);
  });
  element.addEventListener("pointerdown", (event) => {
    dragging = event.button === 0 ? place(event.target) : null;
  });
  element.addEventListener("pointermove", (event) => {
    if (dragging === null || !event.buttons) return;
    const at = under(event);
    if (at === null) return;
    if (ondrag) ondrag(dragging, at);
    else if (event.pointerType === "touch" && onpoint) onpoint(at, event);
  });
  element.addEventListener("click", (event) => {
    const at = place(event.target);
    if (at !== null && onpress) onpress(at, event);
  });
  if (onleave) element.addEventListener("pointerleave", onleave);
  element.addEventListener("keydown", (event) => {
    if (onkey && onkey(event)) event.preventDefault();
  });

  return {
    element,
    get size() {
      return items.length;
    },
    set(symbols, words, changed = []) {
      const odd = new Set(changed);
      items = symbols.map((symbol, at) =>
        h("span", {
          class: odd.has(at) ? "glyph changed" : "glyph", role: "option", id: `${id}-${at}`, "data-at": at, "aria-selected": "false",
          "aria-label": symbol === " " ? "space" : undefined, title: odd.has(at) ? "Not in the model's alphabet: replaced" : undefined,
        }, symbol));
      painted = [];
      marked = null;
      const groups = [];
      let group = null;
      items.forEach((item, at) => {
        if (at === 0 || words[at] !== words[at - 1]) groups.push((group = h("span", { class: "word", role: "presentation" })));
        group.append(item);
      });
      const letters = symbols.every((symbol) => [...symbol].length === 1);
      element.classList.toggle("tokens", !letters);
      element.replaceChildren(...groups);
      element.removeAttribute("aria-activedescendant");
    },
    // colors(at) -> [background, ink] or null where nothing can be
    paint(colors) {
      items.forEach((item, at) => {
        const color = colors(at);
        const key = color ? color[0] : "";
        if (painted[at] === key) return;
        painted[at] = key;
        item.style.backgroundColor = key;
        item.style.color = color ? color[1] : "var(--muted)";
      });
    },
    // The chosen position; several where a phrase is chosen.
    mark(first, last = first, active = last) {
      if (marked) for (const item of marked) item.setAttribute("aria-selected", "false");
      marked = items.slice(Math.min(first, last), Math.max(first, last) + 1);
      for (const item of marked) item.setAttribute("aria-selected", "true");
      if (items[active]) element.setAttribute("aria-activedescendant", items[active].id);
    },
    flag(name, test) {
      items.forEach((item, at) => item.classList.toggle(name, test(at)));
    },
  };
}
