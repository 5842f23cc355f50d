// All claims as one picture: a row of marks for each source; under a mark, small, what came out at its other scales.
import { svg } from "../../lib/dom.js";

const COLORS = {
  supported: "var(--yes)", holds: "var(--yes)", contradicted: "var(--no)", "does not hold": "var(--no)", open: "var(--open)", void: "var(--half)", tested: "var(--none)", "not run": "var(--none)",
};
const [WIDE, HIGH, MARK, SMALL] = [18, 52, 6, 2.5];

export const sources = (claims) => [...new Set(claims.map((claim) => claim.source))];

function dot(outcome, cx, cy, r) {
  return svg("circle", { cx, cy, r, fill: outcome === "not run" ? "none" : COLORS[outcome], stroke: COLORS[outcome], "stroke-width": 1.5 });
}

// onpick(claim): a mark was clicked.
export function overview(claims, { sources: known, outcomes }, onpick) {
  const names = sources(claims);
  const of = (name) => claims.filter((claim) => claim.source === name);
  const width = Math.max(790, 30 + WIDE * Math.max(0, ...names.map((name) => of(name).length)));
  const text = (value, x, y, size, ink) => svg("text", { x, y, "font-size": size, fill: ink, "font-family": "var(--sans)" }, value);
  const rows = names.map((name, at) => {
    const marks = of(name).map((claim, index) => {
      const [x, y] = [20 + WIDE * index, 30 + at * HIGH];
      const [, ...others] = claim.verdicts.filter((found) => found.count);
      const told = [`${claim.verdict}: ${claim.statement}`, ...others.map((found) => `${found.label}, ${found.where}: ${found.outcome}`)].join("\n");
      return svg("g", { class: "claim-mark", onclick: onpick && (() => onpick(claim)) }, svg("title", {}, told), dot(claim.verdict, x, y, MARK),
        others.map((found, below) => dot(found.outcome, x - 3 * (others.length - 1) + 6 * below, y + 12, SMALL)));
    });
    const source = known.find((candidate) => candidate.name === name);
    return svg("g", {}, text(source ? source.title : name, 14, 16 + at * HIGH, 12, "var(--ink)"), marks);
  });
  const bottom = names.length * HIGH + 20;
  const legend = outcomes.map((outcome, index) => [dot(outcome, 20 + 95 * index, bottom, 5), text(outcome, 30 + 95 * index, bottom + 4, 11, "var(--muted)")]);
  const small = text("small: at other scales", 30 + 95 * outcomes.length, bottom + 4, 11, "var(--muted)");
  const wide = Math.max(width, 170 + 95 * outcomes.length);
  const label = `${claims.length} claims of ${names.length} sources, one mark each: ${outcomes.map((outcome) => `${claims.filter((claim) => claim.verdict === outcome).length} ${outcome}`).join(", ")}`;
  return svg("svg", { role: "img", "aria-label": label, width: wide, height: bottom + 16, viewBox: `0 0 ${wide} ${bottom + 16}` }, rows, legend, small);
}
