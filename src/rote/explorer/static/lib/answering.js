// An answer is shown only together with the question that it answers.
//
//   const current = answering(area, (signal, question) => context.api.post(path, question, { signal }), lost);
//   const got = await current.ask(question);   // { question, answer }; undefined when a later one overtook it
//   current.held                               // the latest of these, which area shows; null: it shows nothing
//   current.waiting                            // an element that says so while there is nothing to show yet
//
// While the next answer is awaited, what the area shows is old: it looks so (aria-busy), and a button in it does nothing.
// When none comes, it is lost: lost() takes it off the page.
import { h, latest } from "./dom.js";

export function answering(area, ask, lost) {
  const newest = latest(ask);
  const current = {
    held: null,
    waiting: h("p", { class: "loading", hidden: true }, "computing …"),
    async ask(question) {
      area.setAttribute("aria-busy", "true");
      current.waiting.hidden = current.held !== null;
      try {
        const answer = await newest(question);
        if (answer === undefined) return undefined; // the one that overtook it goes on
        current.held = { question, answer };
      } catch (error) {
        current.forget();
        throw error;
      }
      done();
      return current.held;
    },
    // What is shown belongs to nothing any more.
    forget() {
      newest.cancel();
      done();
      current.held = null;
      lost();
    },
    cancel: newest.cancel,
  };
  function done() {
    area.removeAttribute("aria-busy");
    current.waiting.hidden = true;
  }
  area.classList.add("answers");
  area.addEventListener("click", (event) => { // also one that a key makes
    if (area.getAttribute("aria-busy") !== "true") return;
    event.stopPropagation();
    event.preventDefault();
  }, true);
  return current;
}
