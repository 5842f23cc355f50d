// A claim, opened: what the source says, what would support it beside what came out at each scale, and how to run it.
import { h, number, svg } from "../../lib/dom.js";
import { badge } from "../../lib/outcome.js";

const interval = ({ value, low, high }) => (low === null || high === null ? number(value) : `${number(value)} [${number(low)}, ${number(high)}]`);

// A picture as Python describes it: shapes with their attributes.
export function drawn(picture, kind) {
  if (!picture) return null;
  const shapes = picture.shapes.map(({ tag, attributes, title }) => svg(tag, attributes, title && svg("title", {}, title)));
  return svg("svg", { class: `picture ${kind}`, viewBox: `0 0 ${picture.width} ${picture.height}`, width: picture.width, height: picture.height, "aria-hidden": "true" }, shapes);
}

function table(kind, label, headings, rows) {
  const head = headings.map(([name, unit]) => h("th", { scope: "col" }, name, unit && h("span", { class: "unit" }, unit)));
  return h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, h("table", { class: `${kind} stacks` }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

function cells(claim, cell) {
  if (!cell) return h("td", { colspan: 5, class: "missing" }, "not run");
  const scale = h("td", { "data-label": "Scale" }, cell.scale);
  if (!cell.n) return [scale, h("td", { colspan: 4, class: "missing" }, "not measured in this run")];
  const audit = claim.kind === "audit";
  return [
    scale,
    h("td", { "data-label": "", class: "pictured" }, drawn(cell.picture, "strip")),
    h("td", { "data-label": "Seeds" }, h("b", {}, `${cell.k}/${cell.n}`), !audit && h("small", { class: "possible" }, `${cell.share[0].toFixed(2)} to ${cell.share[1].toFixed(2)}`)),
    h("td", { "data-label": "Mean", class: "estimate" }, h("span", { title: cell.estimate.method }, interval(cell.estimate))),
    h("td", { "data-label": "Outcome" }, cell.outcome ? badge(cell.outcome) : "reported"),
  ];
}

function evidence(claim) {
  const rows = claim.rows.flatMap((row) => {
    if (row.heading) return [h("tr", { class: `heading depth-${row.depth}` }, h("th", { scope: "colgroup", colspan: 6 }, row.heading))];
    const found = row.cells.length ? row.cells : [null];
    return found.map((cell, index) => h(
      "tr", { class: `${index ? "more" : "first"} depth-${row.depth} role-${row.role}` },
      index === 0 && h("th", { scope: "row", rowspan: found.length }, row.label, h("small", {}, row.expected)),
      cells(claim, cell),
    ));
  });
  const headings = [["What would support it"], ["Scale"], ["Each seed", "shaded: holds"], ["Seeds", "share of all"], ["Mean", "[95 %]"], ["Outcome"]];
  return table("evidence", `Evidence on ${claim.claim}`, headings, rows);
}

function numbers(claim) {
  const rows = claim.numbers.map(({ scale, comparison: found, picture }) => h(
    "tr", { class: "first" },
    h("th", { scope: "row" }, found.label),
    h("td", { "data-label": "Scale" }, scale),
    h("td", { "data-label": "Published" }, h("span", { class: "as-published" }, found.published)),
    h("td", { "data-label": "Ours" }, number(found.ours), h("small", {}, `n = ${found.n}`)),
    h("td", { "data-label": "Difference", class: "pictured" }, drawn(picture, `difference match-${found.match}`), h("small", {}, interval({ value: found.difference, low: found.low, high: found.high }))),
    h("td", { "data-label": "Match" }, h("b", { class: `match-${found.match}` }, found.match), found.match === "consistent" && h("small", {}, `${number(found.unnoticed)} would go unnoticed`)),
  ));
  const headings = [["Number"], ["Scale"], ["Published"], ["Ours"], ["Difference", "[95 %]; shaded: agrees"], ["Match"]];
  return table("evidence numbers", `Numbers of ${claim.claim}`, headings, rows);
}

function verdict(found, identity) {
  const facts = identity ? "" : [found.label, found.where, found.status].filter(Boolean).join(", ");
  return h(
    "li", {},
    h("p", {}, badge(found.outcome), " ", facts || found.reason, found.caveats.length > 0 && `; but ${found.caveats.join("; ")}`),
    facts && ["void", "not run"].includes(found.outcome) && h("p", { class: "why" }, found.reason),
    found.altered.length > 0 && h("p", { class: "why" }, `Settings that differ from the published ones: ${found.altered.join(", ")}.`),
  );
}

function registered(claim) {
  if (claim.kind === "identity" || (claim.kind === "audit" && !claim.register.length)) return null;
  if (!claim.register.length) return h("p", { class: "registered" }, "Its criterion is not in the register, so no run of it can be confirmatory.");
  const told = ({ hash, date, reason }) => `${date.slice(0, 10)}, ${hash.slice(0, 12)}: ${reason}`;
  const last = claim.register[claim.register.length - 1];
  return h(
    "p", { class: "registered" }, `Criterion registered ${told(last)}. `,
    !claim.registered && h("b", {}, "It has been changed since, and the change is not registered. "),
    claim.register.length > 1 && [h("b", {}, "The criterion was changed after results"), `; before: ${claim.register.slice(0, -1).map(told).join("; ")}.`],
  );
}

export function card(claim) {
  const here = claim.verdicts.filter((found) => found.where.includes("here")).flatMap((found) => found.runs);
  const shown = here.slice(0, 12);
  const identity = claim.kind === "identity";
  return h(
    "div", { class: "claim-body card" },
    claim.published && h("p", { class: "quoted" }, h("span", { class: "label" }, `${claim.place}, ${claim.kind}`), claim.published),
    claim.remark && h("p", { class: "remark" }, claim.remark),
    claim.rows.length > 0 && evidence(claim),
    claim.numbers.length > 0 && [h("h3", {}, "Numbers against the published"), numbers(claim)],
    h("ul", { class: "verdicts", "aria-label": `Verdicts on ${claim.claim}` }, (identity ? claim.verdicts.slice(0, 1) : claim.verdicts).map((found) => verdict(found, identity))),
    claim.settle && h("p", { class: "settle" }, h("b", {}, "What would settle it: "), claim.settle),
    registered(claim),
    h(
      "p", { class: "hint" }, `Study ${claim.study}: ${claim.study_title}. `,
      !identity && ["Run it: ", h("code", {}, `rote run ${claim.study}`), " "],
      here.length > 0 && h("a", { href: `#/runs?q=${encodeURIComponent(claim.study)}&runs=${shown.slice(1).join(",") || shown[0]}` }, `See its ${here.length} runs`),
    ),
  );
}
