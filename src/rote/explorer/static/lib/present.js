// Presenter mode: one figure and its controls, in large type, as large as the screen allows. The address has it as
// present=1, 2, ...: the figure that is shown, of a view that has several.
import { fill, h } from "./dom.js";

const FIGURE = ":is(.panel, .claims-head, .claim)"; // of the ledger each claim is one
const ALONE = ".text-rows, .chalk-graph"; // the figure of a view without panels
const [LEAST, MOST, BELOW] = [0.4, 2, 36]; // of the zoom; pixels for the buttons below

const presenting = () => Number(document.documentElement.dataset.present || 0);

function figures() {
  const all = [...document.querySelectorAll(`#view ${FIGURE}`)].filter((panel) => !panel.parentElement.closest(FIGURE) && !panel.hidden);
  return all.length ? all : [...document.querySelectorAll("#view .view")].slice(0, 1);
}

// One of the figures is left, and grows or shrinks until the page is full.
let fitted = null;
function arrange() {
  const number = presenting();
  const all = figures();
  const chosen = all[Math.min(number, all.length) - 1];
  for (const panel of document.querySelectorAll(`#view ${FIGURE}`)) panel.classList.toggle("presented", panel === chosen);
  for (const panel of document.querySelectorAll(`#view :is(${FIGURE}, ${ALONE})`)) panel.style.removeProperty("zoom");
  fitted = number ? figureOf(chosen) : null;
  if (!fitted) return;
  const fits = (zoom) => {
    fitted.style.setProperty("zoom", zoom.toFixed(3));
    return roomLeft() >= 0 && (zoom <= 1 || fitted.scrollWidth <= fitted.clientWidth); // what is scrolled sideways does not grow
  };
  let [low, high] = fits(1) ? [1, MOST] : [LEAST, 1];
  for (let time = 0; time < 6; time += 1) {
    const middle = (low + high) / 2;
    [low, high] = fits(middle) ? [middle, high] : [low, middle];
  }
  fits(low);
}

const figureOf = (chosen) => (chosen?.matches(FIGURE) ? chosen : document.querySelector(`#view :is(${ALONE})`));
const roomLeft = () => innerHeight - BELOW - (document.getElementById("view").getBoundingClientRect().bottom + scrollY);

let waiting = 0;
function arrangeSoon() {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    arrange();
  });
}

// What arrives later is another figure, or makes it too large.
const watch = new ResizeObserver(() => {
  const shown = document.querySelector("#view .presented");
  if ((fitted && roomLeft() < -4 && fitted.style.zoom !== LEAST.toFixed(3)) || !fitted?.isConnected || (shown ?? fitted) !== fitted) arrangeSoon();
});

export function showPresented(values) {
  const number = Math.max(0, Math.floor(Number(values.present)) || 0);
  const root = document.documentElement;
  const before = presenting();
  if (number) root.dataset.present = number;
  else delete root.dataset.present;
  root.classList.toggle("presenting", number > 0);
  watch.disconnect();
  if (number) watch.observe(document.getElementById("view"));
  if (number !== before) window.dispatchEvent(new Event("resize")); // pictures are drawn for the room that they have
  arrangeSoon();
  document.dispatchEvent(new Event("presented"));
}

// The buttons that begin and end it and go from figure to figure; Escape ends it, Page Up and Page Down go too.
export function presentButtons(opened) {
  const host = h("span", { class: "present" });
  function turn(number) {
    const state = opened();
    if (!state) return;
    state.set({ present: number || "" });
    showPresented({ present: number });
  }
  const go = (by) => turn(((presenting() - 1 + by + figures().length) % figures().length) + 1);
  const button = (text, title, onclick) => h("button", { type: "button", class: "quiet", title, "aria-label": title, onclick }, text);
  function tell() {
    if (!presenting()) return fill(host, h("button", { type: "button", class: "quiet", title: "Large type, only the figure and its controls", onclick: () => turn(1) }, "Present"));
    return fill(host, button("‹", "Figure before (Page Up)", () => go(-1)), button("›", "Next figure (Page Down)", () => go(1)), button("Leave", "Leave presenter mode (Escape)", () => turn(0)));
  }
  document.addEventListener("presented", tell);
  document.addEventListener("keydown", (event) => {
    if (!presenting() || event.defaultPrevented) return;
    if (event.key === "Escape") turn(0);
    else if (event.key === "PageDown") go(1);
    else if (event.key === "PageUp") go(-1);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", arrangeSoon);
  tell();
  return host;
}
