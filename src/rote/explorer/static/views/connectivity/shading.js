// What the rows show at the chosen character: colors, suggestions, the target's rank, and values in words.
import { fill, h, number, percent } from "../../lib/dom.js";
import { named } from "../../lib/glyphs.js";
import { shade } from "../../lib/shades.js";
import { chance } from "../../lib/textview.js";

// chosen: the options; rows(), at(): the rows and the chosen character; reading(): another one whose value is read. What
// was measured is what a row's own question says, which may be older than the options.
export function shading(chosen, { rows, at, reading }) {
  const whole = () => chosen.unit === "words";
  const along = () => (chosen.view === "column" ? "column" : "row");
  const measured = (row) => (row && row.matrix ? row.current.held.question : chosen);
  const signed = (row) => measured(row).norm === "signed";
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
    row.colors = (other) => (row.matrix.reaches(place, other, along()) ? shade(row.values[other] / largest, signed(row)) : null);
    row.text.paint(row.colors);
    row.text.mark(place);
    suggest(row, place);
  }

  function suggest(row, place) {
    const { asked, ranks, chances, own, suggested, suggested_chances: shares } = row.answer;
    const word = asked[place];
    fill(row.suggestions, suggested[place].map((item, index) =>
      h("li", { class: item === word ? "asked" : undefined }, h("b", {}, named(item)), " ", h("span", {}, chance(shares[place][index])))));
    const unknown = own[place] && measured(row).ask === "text"; // the text ends here, or has a word that is no output
    const rank = ranks[place] === null ? `below the ${suggested[place].length} that were stored` : `rank ${ranks[place]} (${chance(chances[place])})`;
    row.target.textContent = unknown ? "asked about: the first suggestion" : `${named(word)}: ${rank}`;
  }

  function tell(row) {
    if (!row.matrix) return;
    const { symbols, causal } = row.answer;
    const place = placeIn(row);
    const wordFrom = (word) => { // as far as it has been read
      const { first, last } = row.matrix.words[word];
      const name = symbols.slice(first, (causal && along() === "row" && first <= place ? Math.min(last, place) : last) + 1).join("").trim();
      return name ? `“${name}”` : "the space";
    };
    const spell = (position) => (whole() ? wordFrom(row.matrix.wordOf[position]) : `“${named(symbols[position])}” (${position + 1})`);
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
    row.readout.textContent = `draws most on ${wordFrom(word)}: ${percent(share, 0)} of all words`;
  }

  function measure({ norm, of, wrt }, relative) {
    const what = { l2: "norm of the gradient", squared: "squared norm of the gradient", signed: "gradient × input" }[norm];
    return `${what} of the ${of === "logit" ? "logit" : "log probability"}, at the ${wrt === "one_hot" ? "one-hot input" : "embedding"}${relative ? ", over the largest at the chosen character" : ""}`;
  }

  // What the colors mean.
  function legend() {
    const relative = chosen.scale === "position";
    const largest = Math.max(0, ...rows().map((row) => (row.matrix ? most(row, row.values || []) : 0)));
    const end = relative ? "1" : number(largest);
    const newest = rows().find((row) => row.matrix && !row.area.hasAttribute("aria-busy"));
    return { signed: signed(newest), low: signed(newest) ? `−${end}` : "0", high: end, measure: measure(measured(newest), relative) };
  }

  return { along, signed, placeIn, paintRow, tell, legend };
}
