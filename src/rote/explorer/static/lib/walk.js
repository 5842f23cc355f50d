// A guided walk over a text: situations with places to look at, one after the other.
import { fill, h } from "./dom.js";

// onplace(text, at): show this place of the text. set(story, current): what GET /api/connectivity/walk answers.
export function guidedWalk({ onplace, onstep, announce }) {
  let story = null;
  let current = null;
  let place = 0;
  const element = h("section", { class: "walk", "aria-label": "Guided walk" });

  function open(index, at = 0) {
    current = index;
    place = at;
    draw();
    onplace(story.text, story.situations[index].places[at].at);
    onstep();
    announce(`Situation ${index + 1} of ${story.situations.length}: ${story.situations[index].title}`);
  }

  function draw() {
    if (!story) return fill(element);
    const steps = story.situations.map((situation, index) =>
      h("button", { type: "button", class: "walk-number", "aria-pressed": String(index === current), "aria-label": `Situation ${index + 1}: ${situation.title}`, onclick: () => open(index) }, String(index + 1)));
    const head = h("div", { class: "walk-head" }, h("span", { class: "walk-title" }, "A walk in three situations"), steps);
    if (current === null) return fill(element, head);
    const { title, article, look, places } = story.situations[current];
    const spots = places.map(({ label }, index) => h("button", { type: "button", class: "quiet spot", "aria-pressed": String(index === place), onclick: () => open(current, index) }, label));
    const turn = (by, name) => h("button", { type: "button", class: "quiet", disabled: !story.situations[current + by], onclick: () => open(current + by) }, name);
    return fill(
      element, head,
      h("div", { class: "walk-page" },
        h("h2", {}, title), h("p", {}, article), h("p", { class: "walk-look" }, look),
        h("div", { class: "spots", role: "group", "aria-label": "Places of this situation" }, spots),
        h("div", { class: "walk-turn" }, turn(-1, "Previous"), turn(1, "Next"), h("button", { type: "button", class: "quiet", onclick: () => leave() }, "End the walk"))),
    );
  }

  function leave() {
    if (current === null) return;
    current = null;
    draw();
    onstep();
  }

  return {
    element,
    current: () => current,
    leave,
    set(found, index, at) {
      story = found;
      current = Number.isInteger(index) && found.situations[index] ? index : null;
      if (current !== null) place = Math.max(0, found.situations[index].places.findIndex((item) => item.at === at));
      draw();
    },
  };
}
