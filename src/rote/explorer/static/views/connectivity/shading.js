// What the rows show at the chosen character: colors, suggestions, the target's rank, and values in words.
import { fill, h, number, percent } from "../../lib/dom.js";
import { named } from "../../lib/glyphs.js";
import { shade } from "../../lib/shades.js";
import { chance } from "../../lib/textview.js";

// chosen: the options; rows(), at(): the rows and the chosen character; reading(): another one whose value is read.
export function shading(chosen, { rows, at, reading }) {
  const whole = () => chosen.unit === "words";
  const along = () => (chosen.view === "column" ? "column" : "row");
  const signed = () => chosen.norm === "signed";
  const placeIn = (row) => Math.min(at(), row.answer.symbols.length - 1);

  function most(row, values) {
    if (chosen.scale === "model") return row.matrix.most(whole());
    if (chosen.scale === "all") return Math.max(...rows().map((item) => (item.matrix ? item.matrix.most(whole()) : 0)));
    return values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  }

  function paintRow(row) {
    if (!row.matrix) return;
    const place = placeIn(row);
    row.values = row.matrix.series(place, along(), whole());
    const largest = most(row, row.values) || 1;
    row.colors = (other) => (row.matrix.reaches(place, other, along()) ? shade(row.values[other] / largest, signed()) : null);
    row.text.paint(row.colors);
    row.text.mark(place);
    suggest(row, place);
  }

  function suggest(row, place) {
    const { asked, ranks, chances, own, suggested, suggested_chances: shares } = row.answer;
    const word = asked[place];
    fill(row.suggestions, suggested[place].map((item, index) =>
      h("li", { class: item === word ? "asked" : undefined }, h("b", {}, item), " ", h("span", {}, chance(shares[place][index])))));
    const unknown = own[place] && chosen.ask === "text"; // the text ends here, or has a word that is no output
    row.target.textContent = unknown ? "asked about: the first suggestion" : `${named(word)}: rank ${ranks[place]} (${chance(chances[place])})`;
  }

  function tell(row) {
    if (!row.matrix) return;
    const { symbols } = row.answer;
    const place = placeIn(row);
    const spell = (position) => {
      if (!whole()) return `“${named(symbols[position])}” (${position + 1})`;
      const { first, last } = row.matrix.words[row.matrix.wordOf[position]];
      return `“${symbols.slice(first, last + 1).join("").trim()}”`;
    };
    const elsewhere = reading();
    if (elsewhere !== null && elsewhere < symbols.length) {
      const value = along() === "row" ? row.matrix.value(place, elsewhere, whole()) : row.matrix.value(elsewhere, place, whole());
      row.readout.textContent = `${spell(elsewhere)}: ${number(value)}`;
      return;
    }
    if (along() === "column") {
      row.readout.textContent = `what ${spell(place)} influences`;
      return;
    }
    if (row.matrix.words.length < 2) {
      row.readout.textContent = ""; // it draws on the only word
      return;
    }
    const { word, share } = row.matrix.strongest(place);
    const { first, last } = row.matrix.words[word];
    const name = symbols.slice(first, last + 1).join("").trim();
    row.readout.textContent = `draws most on ${name ? `“${name}”` : "the space"}: ${percent(share, 0)} of all words`;
  }

  function measure(relative) {
    const what = { l2: "norm of the gradient", squared: "squared norm of the gradient", signed: "gradient × input" }[chosen.norm];
    const of = chosen.of === "logit" ? "logit" : "log probability";
    return `${what} of the ${of}, at the ${chosen.wrt === "one_hot" ? "one-hot input" : "embedding"}${relative ? ", over the largest at the chosen character" : ""}`;
  }

  // What the colors mean.
  function legend() {
    const relative = chosen.scale === "position";
    const largest = Math.max(0, ...rows().map((row) => (row.matrix ? most(row, row.values || []) : 0)));
    const end = relative ? "1" : number(largest);
    return { signed: signed(), low: signed() ? `−${end}` : "0", high: end, measure: measure(relative) };
  }

  return { along, signed, placeIn, paintRow, tell, legend };
}
