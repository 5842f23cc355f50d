// The first view: one sentence and a moving picture for each of the others.
import { onTheme } from "../lib/color.js";
import { fill, h } from "../lib/dom.js";
import { link } from "../lib/state.js";
import { chain, graph, plane } from "./home/computed.js";
import { bars, claims, contributions, curves, gates, steps, typing } from "./home/pictures.js";
import { heroFigure } from "./units/hero.js";

// Each a promise of { element, frames, show(frame) }; what it shows was answered by a model, or is computed here.
const PICTURES = { autocomplete: typing, units: gates, decomposition: contributions, playground: plane, recurrent: chain, chalk: graph, lookup: steps, profiles: bars, ledger: claims, runs: curves };
const HERO = "connectivity"; // its picture is the article's opening figure
const [EVERY, REST] = [220, 9]; // milliseconds of a frame, and frames that the last one stays
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

export const view = {
  name: "home",
  title: "Does it compose, or has it learned by rote?",
  mount(root, context) {
    let playing = !calm.matches;
    let cards = [];
    let gone = false; // another view is open
    const hero = heroFigure(context, {});
    const called = (one) => (context.api.recorded ? one.title : h("a", { href: link(one.name, {}) }, one.title));
    const button = h("button", { type: "button", class: "quiet", onclick: () => play(!playing) });
    const yours = h("p", { class: "yours", hidden: true });
    const first = h("p", { class: "hint" });
    const list = h("ul", { class: "home-cards" });

    function play(on) {
      playing = on;
      button.textContent = on ? "Pause the pictures" : "Play the pictures";
      root.dataset.playing = String(on);
      if (!on) cards.forEach((card) => draw(card, card.picture ? card.picture.frames - 1 : 0)); // the whole of it
    }

    function draw(card, frame) {
      card.frame = frame;
      if (card.picture) card.picture.show(Math.min(frame, card.picture.frames - 1));
      card.element.dataset.frame = frame;
    }

    function card(one) {
      const made = { name: one.name, frame: 0, picture: null, place: h("div", { class: "home-picture" }) };
      made.element = h("li", { class: "panel home-card", "data-view": one.name }, h("h2", {}, called(one)), h("p", { class: "hint" }, one.about), made.place);
      return made;
    }

    // One after the other: the pointer on the first figure must not wait for the last.
    async function fetchPictures() {
      for (const one of cards) {
        if (gone) return;
        one.picture = await PICTURES[one.name](context.api);
        fill(one.place, one.picture.element);
        draw(one, playing ? 0 : one.picture.frames - 1);
      }
      root.dataset.drawn = "1";
    }

    async function start() {
      const { views } = await context.api.get("/api/session");
      cards = views.filter(({ name }) => name in PICTURES).map(card);
      const hers = views.find(({ name }) => name === HERO);
      fill(first, h("b", {}, called(hers)), `: ${hers.about}`);
      fill(list, cards.map((one) => one.element));
      await hero.load();
      const own = (await context.models()).filter(({ group }) => group === "yours");
      yours.hidden = !own.length || context.api.recorded;
      fill(yours, "Your own: ", own.map(({ key, title }) => h("a", { href: link(HERO, { models: key }) }, title)));
      await fetchPictures();
    }

    const timer = setInterval(() => {
      if (!playing || document.hidden) return;
      for (const one of cards) {
        if (one.picture && !one.element.matches(":hover, :focus-within")) draw(one, (one.frame + 1) % (one.picture.frames + REST));
      }
    }, EVERY);
    const quieted = () => calm.matches && play(false);
    calm.addEventListener("change", quieted);
    const themed = onTheme(() => cards.forEach((one) => draw(one, one.frame)));

    fill(
      root,
      h("p", { class: "lead-in" }, "Look inside networks that read one symbol after another, train small ones while you watch, and read what became of the claims about them. All of it on this machine."),
      yours, first, hero.element,
      h("div", { class: "controls" }, button), list,
    );
    play(playing);
    start().catch(context.fail);
    return {
      unmount() {
        gone = true;
        clearInterval(timer);
        calm.removeEventListener("change", quieted);
        themed();
        hero.destroy();
      },
      data: () => ({ columns: ["view", "about"], rows: cards.map(({ name, element }) => [name, element.querySelector(".hint").textContent]) }),
      svg: () => cards.map(({ picture }) => picture && picture.element).find((element) => element && element.tagName === "svg") || null,
    };
  },
};
