// Presenter mode: large type, the figure and its controls, nothing else. The address has it as present=1.
import { h } from "./dom.js";

const on = () => document.documentElement.classList.contains("presenting");

export function showPresented(values) {
  const wanted = Boolean(values.present);
  if (wanted === on()) return;
  document.documentElement.classList.toggle("presenting", wanted);
  document.querySelectorAll("button.present").forEach((button) => (button.textContent = wanted ? "Leave" : "Present"));
  window.dispatchEvent(new Event("resize")); // pictures are drawn for the room that they have
}

// A button that begins and ends it; Escape ends it too. opened(): the state of the view that is open, or nothing.
export function presentButton(opened) {
  function turn(present) {
    const state = opened();
    if (!state) return;
    state.set({ present: present ? "1" : "" });
    showPresented({ present });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && on() && !event.defaultPrevented) turn(false);
  });
  const title = "Large type, only the figure and its controls; Escape leaves";
  return h("button", { type: "button", class: "quiet present", title, onclick: () => turn(!on()) }, on() ? "Leave" : "Present");
}
