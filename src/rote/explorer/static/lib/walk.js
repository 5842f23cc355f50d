// A guided walk over a text: situations with places to look at, one after the other.
import { fill, h } from "./dom.js";
import { chance } from "./textview.js";

// onplace(text, at): show this place of the text. set(story, current): what GET /api/connectivity/walk answers.
export function guidedWalk({ onplace, onstep, announce }) {
  let story = null;
  let current = null;
  let place = 0;
  const element = h("section", { class: "walk", "aria-label": "Guided walk" });
  const ranks = h("ul", { class: "walk-ranks", "aria-label": "Ranks here and published" });

  function open(index, at = 0) {
    current = index;
    place = at;
    draw();
    onplace(story.text, story.situations[index].places[at].at);
    onstep();
    announce(`Situation ${index + 1} of ${story.situations.length}: ${story.situations[index].title}`);
  }

  function draw() {
    element.classList.toggle("open", current !== null);
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
        h("h2", {}, title), h("p", {}, article), h("p", { class: "walk-look" }, look), ranks,
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

  // here(cell, at): { title, rank, chance } of a network here, or null. What was published is known to three places.
  function compare(here) {
    if (!story || current === null) return;
    const { at, published } = story.situations[current].places[place];
    const said = (rank, share) => (rank === 1 ? `first, ${chance(share)}` : `rank ${rank}, ${chance(share)}`);
    fill(ranks, Object.entries(published).flatMap(([cell, { rank, chance: share, stored }]) => {
      const ours = here(cell, at);
      const theirs = rank === null ? `not among the first ${stored}` : said(rank, share);
      return ours ? [h("li", {}, h("b", {}, ours.title), ` here ${said(ours.rank, ours.chance)}; published ${theirs}`)] : [];
    }));
  }

  return {
    element,
    compare,
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
