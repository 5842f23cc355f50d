// The article's opening figure, playing by itself: what each network draws on while a word is being typed.
import { fill, h, select } from "../../lib/dom.js";
import { glyphs, moved, named } from "../../lib/glyphs.js";
import { Matrix } from "../../lib/matrix.js";
import { shade } from "../../lib/shades.js";
import { chance } from "../../lib/textview.js";

const SHOWN = 70; // characters of the paragraph
const [FIRST, LAST] = [12, 35]; // it plays from here to there, over and over
const EVERY = 200; // milliseconds
const LONG = 28; // before the first letter of "grammar"
const SHORT = 34; // six letters known
const CELLS = [["nested_lstm", "Nested LSTM"], ["lstm", "LSTM"], ["gru", "GRU"]];
const SOURCES = [["article:", "the article's own networks"], ["", "the models of this package"]];
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

export function heroFigure(context, given) {
  let from = given.hero === "package" ? "" : "article:";
  let at = calm.matches ? LONG : FIRST;
  let playing = !calm.matches;
  let resting = false; // somebody points at it, or is in it with the keyboard
  let rows = [];

  const list = h("div", { class: "hero-rows" });
  const button = h("button", { type: "button", class: "quiet", onclick: () => play(!playing) });
  const jump = (place, text) => h("button", { type: "button", class: "link", onclick: () => stop(place) }, text);
  const element = h(
    "section", { class: "panel hero", "aria-label": "What a prediction draws on while a word is typed" },
    h("h2", {}, "While a word is typed"),
    h("p", { class: "hint" }, "Shaded: how strongly the output at the underlined character depends on the earlier ones. Before “grammar” the article's GRU ",
      jump(LONG, "initially draws on the words before"), "; then, ", jump(SHORT, "as more letters are known"), ", on those of the word itself."),
    h("div", { class: "controls" }, button, h("label", { class: "choice" }, "Shown: ", select(SOURCES, from, (value) => {
      from = value;
      context.state.set({ hero: value ? "" : "package" });
      load().catch(context.fail);
    }))),
    list,
  );
  element.addEventListener("pointerenter", () => (resting = true));
  element.addEventListener("pointerleave", () => (resting = list.contains(document.activeElement)));
  list.addEventListener("focusin", () => (resting = true));
  list.addEventListener("focusout", () => (resting = element.matches(":hover")));

  function tell() {
    button.textContent = playing ? "Pause" : "Play";
    element.dataset.playing = String(playing);
  }

  function play(on) {
    playing = on;
    resting = false; // who presses the button wants to see it
    tell();
  }

  function stop(place) {
    playing = false;
    tell();
    go(place);
  }

  function go(place) {
    at = place;
    element.dataset.at = at;
    for (const row of rows) paint(row);
  }

  function paint({ matrix, answer, text, says }) {
    const values = matrix.series(at, "row", false);
    const most = Math.max(...values) || 1;
    text.paint((other) => (other <= at ? shade(values[other] / most, false) : null));
    text.mark(at);
    const shares = answer.suggested_chances[at];
    fill(says, answer.suggested[at].slice(0, 3).map((word, index) => h("span", {}, h("b", {}, named(word)), ` ${chance(shares[index])}`)));
  }

  async function load() {
    const story = await context.api.get("/api/connectivity/walk");
    const asked = CELLS.map(([cell]) => context.api.post("/api/connectivity", { model: `${from}${cell}`, checkpoint: null, text: story.text, norm: "squared", top: 3 }));
    const answers = await Promise.all(asked);
    rows = answers.map((answer, index) => {
      const title = CELLS[index][1];
      const text = glyphs({ label: `The paragraph as the ${title} reads it`, onpoint: go, onpress: stop, onkey: (event) => {
        const to = moved(event, at, SHOWN);
        if (to !== undefined) stop(to);
        return to !== undefined;
      } });
      text.set(answer.symbols.slice(0, SHOWN), answer.words.slice(0, SHOWN));
      return { answer, text, title, matrix: new Matrix(answer, "squared"), says: h("span", { class: "hero-says" }) };
    });
    fill(list, rows.map((row) => h("div", { class: "hero-row" }, h("div", { class: "hero-head" }, h("b", {}, row.title), row.says), row.text.element)));
    go(at);
  }

  const timer = setInterval(() => {
    if (playing && !resting && rows.length && !document.hidden) go(at >= LAST || at < FIRST ? FIRST : at + 1);
  }, EVERY);
  const quieted = () => calm.matches && play(false);
  calm.addEventListener("change", quieted);
  tell();
  return {
    element,
    load,
    again: () => rows.length && go(at),
    destroy() {
      clearInterval(timer);
      calm.removeEventListener("change", quieted);
    },
  };
}
