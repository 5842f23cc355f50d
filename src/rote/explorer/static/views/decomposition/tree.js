// All spans of a text at one output: a triangle, one cell per span, long spans on top, each with its number.
import { answering } from "../../lib/answering.js";
import { fill, h, number, svg } from "../../lib/dom.js";
import { spelled } from "../../lib/glyphs.js";
import { heat } from "../../lib/heat.js";
import { wordsOf } from "../../lib/matrix.js";
import { colorBar, shadeRgb } from "../../lib/shades.js";

const LABELLED = 16; // units that can be named below it
const WRITTEN = 12; // units of a tree whose cells have room for their numbers
const BEST = 12; // spans in the table

// choose(first, last): the symbols of a span that was picked; doubts(answer): what must be known before its numbers are
// believed.
export function spanTree(context, { root, choose, doubts }) {
  let tree = null;
  const state = h("p", { class: "hint", role: "status" });
  const best = h("table", { class: "data" });
  const bar = colorBar();
  const map = heat({
    axis: "bottom",
    label: "Tree of all spans: the whole text on top, single units at the bottom",
    hint: "Each cell is a span: the whole text on top, single units at the bottom. Click a span to choose it as the phrase.",
    read: (row, column) => {
      const { first, length } = ofCell(row, column);
      return `“${spanText(first, length)}”: ${number(tree.scores[place(first, length)])}`;
    },
    onpick: (row, column) => {
      const { first, length } = ofCell(row, column);
      choose(tree.units[first][0], tree.units[first + length][1]);
    },
    colors: shadeRgb,
  });
  const box = h("div", { class: "tree", hidden: true },
    h("div", {}, h("div", { class: "legend-line" }, bar.element), map.element), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Largest contributions" }, best));
  const element = h("section", { class: "panel", "aria-label": "All spans" }, h("h2", {}, "All spans"), state, box);
  const current = answering(box, (signal, body) => context.api.post("/api/decomposition/tree", body, { signal }), () => {
    tree = null;
    box.hidden = true;
    state.textContent = "";
  });

  const single = () => tree.units.every(([first, last]) => first === last); // units are symbols, not words
  const spell = (first, last) => spelled(tree.symbols, first, last, single());
  const place = (first, length) => (first * (2 * tree.units.length - first + 1)) / 2 + length;
  const ofCell = (row, column) => {
    const count = tree.units.length;
    const length = count - 1 - row; // the longest on top
    const first = Math.floor((column - length) / 2); // shorter spans begin half a cell further left and right
    return { first: Math.max(0, Math.min(count - 1 - length, first)), length };
  };
  const spanText = (first, length) => spell(tree.units[first][0], tree.units[first + length][1]);

  // ask(extra): the question with these; answer: of the phrase, for the same text.
  async function load(ask, { words, tree_limits: limits }, at, unit) {
    const count = unit === "words" ? wordsOf(words.slice(0, at + 1)).length : at + 1;
    if (count > limits[unit]) {
      current.forget();
      state.textContent = `The tree holds at most ${limits[unit]} ${unit} up to the chosen output, here there are ${count}. Choose an earlier output.`;
      return;
    }
    try {
      state.textContent = "computing …";
      const got = await current.ask(ask({ at, unit }));
      if (!got) return;
      tree = got.answer;
      draw();
    } catch (problem) {
      state.textContent = problem.message;
    }
  }

  function draw() {
    const count = tree.units.length;
    const most = Math.max(1e-9, ...tree.scores.map((score) => Math.abs(score)));
    const all = [];
    for (let first = 0; first < count; first += 1) for (let length = 0; length < count - first; length += 1) all.push({ first, length, score: tree.scores[place(first, length)] });
    box.hidden = false;
    state.textContent = `Output ${tree.at + 1}, “${tree.output}”: the logit of each of the ${tree.scores.length} spans. Largest error of ${tree.measured} of them: ${number(tree.error)}. ${doubts(tree)}`;
    state.classList.toggle("doubtful", doubts(tree) !== "");
    bar.update({ signed: true, low: number(-most), high: number(most), measure: `logit of “${tree.output}” that the span contributes` });
    box.classList.toggle("crowded", count > WRITTEN / 2);
    map.set({
      rows: count, columns: 2 * count, signed: true, aspect: count > 1 ? `2 / 1` : "8 / 1", labels: count <= LABELLED ? tree.units.map(([first, last]) => spell(first, last)) : [],
      written: count > WRITTEN ? [] : all.map(({ first, length, score }) => ({ row: count - 1 - length, column: length + 2 * first, wide: 2, text: score.toFixed(1).replace("-", "−") })),
      value: (row, column) => {
        const length = count - 1 - row;
        const inside = column - length;
        if (inside < 0 || inside >= 2 * (count - length)) return null;
        return tree.scores[place(Math.floor(inside / 2), length)] / most;
      },
    });
    const ranked = [...all].sort((a, b) => Math.abs(b.score) - Math.abs(a.score)).slice(0, BEST);
    const line = ({ first, length, score }) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => choose(tree.units[first][0], tree.units[first + length][1]) }, spanText(first, length))), h("td", { class: "number" }, number(score)));
    fill(best, h("caption", {}, "Largest contributions"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "span"), h("th", { scope: "col", class: "number" }, "logit"))), h("tbody", {}, ranked.map(line)));
    root.dataset.tree = String(tree.scores.length);
  }

  return {
    element,
    load,
    forget: current.forget,
    cancel: current.cancel,
    destroy: map.destroy,
    // Put below another picture.
    append(picture) {
      if (!tree) return;
      const [width, height] = [Number(picture.getAttribute("width")), Number(picture.getAttribute("height"))];
      const labels = tree.units.length <= LABELLED ? tree.units : [];
      const middle = (index) => ((index + 0.5) * width) / tree.units.length;
      picture.append(
        svg("text", { x: 0, y: height + 12, "font-size": 12, fill: "var(--muted)" }, state.textContent),
        svg("image", { x: 0, y: height + 24, width, height: width / 2, preserveAspectRatio: "none", href: map.picture() }),
        ...labels.map(([from, to], index) => svg("text", { x: middle(index), y: height + width / 2 + 40, "font-size": 11, "text-anchor": "middle", fill: "var(--muted)" }, spell(from, to))),
      );
      picture.setAttribute("height", height + width / 2 + 50);
      picture.setAttribute("viewBox", `0 0 ${width} ${height + width / 2 + 50}`);
    },
  };
}
