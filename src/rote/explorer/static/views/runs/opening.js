// From a run to its networks: links to the views that open them, what they say of pictures, or why there are none.
import { h, select } from "../../lib/dom.js";
import { link } from "../../lib/state.js";
import { pictures } from "./pictures.js";

const VIEWS = [["connectivity", "Connectivity", "models"], ["autocomplete", "Autocomplete", "model"], ["decomposition", "Decomposition", "model"]];

function links(network) {
  return VIEWS.map(([view, title, key]) => h("a", { href: link(view, { [key]: network.key }) }, title));
}

function networks(run) {
  const [first] = run.networks;
  const about = h("p", { class: "hint small" }, first.about);
  const places = h("span", { class: "open-in" }, links(first));
  const choice = select(run.networks.map((network) => [network.key, network.title]), first.key, (key) => {
    places.replaceChildren(...links(run.networks.find((network) => network.key === key)));
  }, { "aria-label": `Network of ${run.study} ${run.part}` });
  return [run.networks.length > 1 ? choice : h("span", {}, first.title), places, about];
}

// heads: what each run is called.
export function opening(runs, heads, api) {
  return h(
    "section", { class: "panel", "aria-label": "Networks" }, h("h2", {}, "Open their networks"),
    h("dl", { class: "openings" }, runs.map((run, index) => [
      h("dt", {}, heads[index]),
      h("dd", {}, run.networks.length ? networks(run) : [h("p", { class: "hint" }, run.closed), run.describing.length > 0 && pictures(run, api)]),
    ])),
  );
}
