// The export menu: what is shown, as a file.
import { h } from "./dom.js";

export function exportMenu(opened, announce) {
  const copy = h("button", {
    type: "button", class: "quiet", onclick: async () => {
      await navigator.clipboard.writeText(location.href);
      announce("Link copied.");
    },
  }, "Copy link");
  return copy;
}
