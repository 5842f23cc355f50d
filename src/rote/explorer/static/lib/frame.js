// The frame of one view: its section, banner and context. Used by the live page and by files that were exported.
import { h } from "./dom.js";

export function frame(view, { api, state, announce, models }) {
  const root = h("section", { class: `view view-${view.name}`, "aria-labelledby": "view-title" });
  const banner = h("div", { class: "banner", role: "alert", hidden: true });
  const host = h("div", { class: "view-host" }, h("h1", { id: "view-title", class: "view-title" }, view.title), banner, root);

  function fail(error) {
    if (error && error.name === "AbortError") return;
    const text = (error && error.message) || String(error);
    banner.replaceChildren(
      h("p", {}, text),
      h("button", { type: "button", class: "quiet", "aria-label": "Dismiss the message", onclick: clear }, "Dismiss"),
    );
    banner.hidden = false;
  }

  function clear() {
    banner.hidden = true;
    banner.replaceChildren();
  }

  const context = { api, state, announce, models, fail, clear };
  let mounted = {};
  return {
    host,
    context,
    fail,
    mount() {
      try {
        mounted = view.mount(root, context) || {};
      } catch (error) {
        fail(error);
        throw error; // also to the console: it is a mistake of ours
      }
    },
    unmount: () => mounted.unmount && mounted.unmount(),
    data: () => mounted.data && mounted.data(),
    // Before it is written to a file: remember(path, body, answer) adds what the file's view will ask for.
    keep: (remember) => mounted.keep && mounted.keep(remember),
    svg: () => mounted.svg && mounted.svg(),
  };
}
