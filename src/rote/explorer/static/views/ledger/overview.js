// All claims as one picture: rows of marks for each source; under a mark, small, what came out at its other scales.
import { svg } from "../../lib/dom.js";

const COLORS = {
  supported: "var(--yes)", holds: "var(--yes)", contradicted: "var(--no)", "does not hold": "var(--no)", open: "var(--open)", void: "var(--half)", tested: "var(--none)", "not run": "var(--none)",
};
const [WIDE, HIGH, TITLE, MARK, SMALL] = [18, 28, 24, 6, 2.5];
const TOLD = 95; // pixels of an entry of the legend

export const sources = (claims) => [...new Set(claims.map((claim) => claim.source))];

function dot(outcome, cx, cy, r) {
  return svg("circle", { cx, cy, r, fill: outcome === "not run" ? "none" : COLORS[outcome], stroke: COLORS[outcome], "stroke-width": 1.5 });
}

// room: how wide it may be, in pixels; marks and legend take as many lines as they need. onpick(claim): a mark was clicked.
export function overview(claims, { sources: known, outcomes }, room, onpick) {
  const names = sources(claims);
  const inLine = Math.max(6, Math.floor((room - 30) / WIDE));
  const text = (value, x, y, size, ink) => svg("text", { x, y, "font-size": size, fill: ink, "font-family": "var(--sans)" }, value);
  let top = 0;
  const rows = names.map((name) => {
    const own = claims.filter((claim) => claim.source === name);
    const begin = top + TITLE + MARK;
    const marks = own.map((claim, index) => {
      const [x, y] = [20 + WIDE * (index % inLine), begin + HIGH * Math.floor(index / inLine)];
      const [, ...others] = claim.verdicts.filter((found) => found.count);
      const told = [`${claim.verdict}: ${claim.statement}`, ...others.map((found) => `${found.label}, ${found.where}: ${found.outcome}`)].join("\n");
      return svg("g", { class: "claim-mark", onclick: onpick && (() => onpick(claim)) }, svg("title", {}, told), dot(claim.verdict, x, y, MARK),
        others.map((found, place) => dot(found.outcome, x - 3 * (others.length - 1) + 6 * place, y + 12, SMALL)));
    });
    const source = known.find((candidate) => candidate.name === name);
    const title = text(source ? source.title : name, 14, top + 16, 12, "var(--ink)");
    top += TITLE + HIGH * Math.ceil(own.length / inLine);
    return svg("g", {}, title, marks);
  });
  const abreast = Math.max(1, Math.floor((room - 20) / TOLD));
  const legend = [...outcomes, null].map((outcome, index) => {
    const [x, y] = [20 + TOLD * (index % abreast), top + 20 + 18 * Math.floor(index / abreast)];
    return outcome ? [dot(outcome, x, y, 5), text(outcome, x + 10, y + 4, 11, "var(--muted)")] : text("small: other scales", x - 6, y + 4, 11, "var(--muted)");
  });
  const height = top + 18 * Math.ceil(legend.length / abreast) + 20;
  const label = `${claims.length} claims of ${names.length} sources, one mark each: ${outcomes.map((outcome) => `${claims.filter((claim) => claim.verdict === outcome).length} ${outcome}`).join(", ")}`;
  return svg("svg", { role: "img", "aria-label": label, width: room, height, viewBox: `0 0 ${room} ${height}` }, rows, legend);
}
