// The claims with their verdicts at every scale: filter by outcome, source, kind, status and text; open one to see why.
import { debounce, field, fill, h, select, svg } from "../lib/dom.js";
import { badge, sign, tone } from "../lib/outcome.js";
import { card, drawn } from "./ledger/card.js";

const STATUSES = [["", "Any"], ["confirmatory", "confirmatory"], ["exploratory", "exploratory"]];
const KINDS = { asserted: "asserted", cited: "in a cited work", implied: "implied", ours: "ours", identity: "identities", audit: "audits" };
const FILTERS = ["outcome", "source", "kind", "status", "q"];

const sources = (claims) => [...new Set(claims.map((claim) => claim.source))];

export const view = {
  name: "ledger",
  title: "Ledger",
  mount(root, context) {
    const begin = context.state.get();
    const chosen = { ...Object.fromEntries(FILTERS.map((name) => [name, begin[name] || ""])), open: new Set((begin.open || "").split(",").filter(Boolean)) };
    let answer = null;
    const lead = h("p", { class: "lead" });
    const counts = h("ul", { class: "counts", "aria-label": "Claims by outcome" });
    const controls = h("div", { class: "controls" });
    const said = h("p", { class: "filtered", role: "status" });
    const list = h("div", {});

    const search = h("input", { type: "search", value: chosen.q, placeholder: "word of a claim, study, place", oninput: debounce((event) => change({ q: event.target.value }), 120) });

    function change(patch) {
      Object.assign(chosen, patch);
      context.state.set({ ...Object.fromEntries(FILTERS.map((name) => [name, chosen[name]])), open: [...chosen.open].join(",") });
      if (patch.open === undefined) draw();
    }

    function matching(outcome = chosen.outcome) {
      const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = (claim) => (chosen.kind === "" || (chosen.kind === "tallied" ? claim.tallied : claim.kind === chosen.kind));
      return answer.claims.filter((claim) => {
        const text = [claim.claim, claim.statement, claim.published, claim.study, claim.place, claim.source, claim.remark].join(" ").toLowerCase();
        return (!outcome || claim.verdict === outcome) && (!chosen.source || claim.source === chosen.source) && kind(claim)
          && (!chosen.status || claim.status === chosen.status) && words.every((word) => text.includes(word));
      });
    }

    // How many of what the other filters leave came out how.
    function drawCounts() {
      const found = matching("");
      fill(counts, answer.outcomes.map((outcome) => {
        const n = found.filter((claim) => claim.verdict === outcome).length;
        return h(
          "li", { class: `${tone(outcome)} ${n ? "" : "none"}` },
          h("button", { type: "button", "aria-pressed": String(chosen.outcome === outcome), onclick: () => change({ outcome: chosen.outcome === outcome ? "" : outcome }) },
            h("span", { class: "count" }, String(n)), h("span", { class: "outcome" }, sign(outcome), outcome)),
        );
      }));
    }

    function drawControls() {
      const titles = [["", "All sources"], ...answer.sources.map((source) => [source.name, `${source.id} ${source.name}`])];
      const kinds = [["", "All kinds"], ["tallied", "of the tally"], ...answer.kinds.map((kind) => [kind, KINDS[kind]])];
      fill(
        controls,
        field("Search", search, { class: "field wide" }),
        field("Source", select(titles, chosen.source, (source) => change({ source }))),
        field("Kind", select(kinds, chosen.kind, (kind) => change({ kind }))),
        field("Status", select(STATUSES, chosen.status, (status) => change({ status }))),
        h("button", { type: "button", class: "quiet", onclick: () => unfold() }, "Open or close all"),
      );
    }

    function unfold() {
      const boxes = [...list.querySelectorAll("details.claim")];
      const open = boxes.some((box) => !box.open);
      boxes.forEach((box) => { box.open = open; });
    }

    function item(claim) {
      const [nearest, ...others] = claim.verdicts;
      const line = (found) => h("span", { class: `line ${tone(found.outcome)}` }, h("b", {}, claim.kind === "audit" ? "" : found.count), ` ${found.label}, ${found.where}`, found !== nearest && `: ${found.outcome}`);
      const box = h(
        "details", { class: `claim ${tone(claim.verdict)}`, id: `claim-${claim.claim}`, open: chosen.open.has(claim.claim) },
        h("summary", {},
          h("span", { class: "signs" }, badge(claim.verdict), claim.differs_by_scale && h("span", { class: "tag flag", title: "Decided otherwise at another scale" }, "scale")),
          h("span", { class: "said" }, claim.statement, nearest.caveats.length > 0 && h("small", {}, `but ${nearest.caveats.join("; ")}`)),
          h("span", { class: "figures" },
            claim.kind !== "audit" && drawn(claim.forest, "shares"),
            nearest.count && [line(nearest), others.filter((found) => found.count).map(line)],
            h("span", { class: "place" }, [claim.place, claim.status, nearest.numbers && `numbers: ${nearest.numbers}`].filter(Boolean).join(" · "))),
        ),
      );
      const opened = () => {
        if (box.open && box.children.length === 1) box.append(card(claim));
        if (box.open === chosen.open.has(claim.claim)) return;
        if (box.open) chosen.open.add(claim.claim);
        else chosen.open.delete(claim.claim);
        change({ open: chosen.open });
      };
      box.addEventListener("toggle", opened);
      if (box.open) box.append(card(claim));
      return box;
    }

    function draw() {
      const found = matching();
      drawCounts();
      said.textContent = found.length === answer.claims.length ? `${found.length} claims.` : `Showing ${found.length} of ${answer.claims.length} claims.`;
      const groups = sources(found).map((name) => {
        const source = answer.sources.find((candidate) => candidate.name === name);
        return h("section", { class: "source-group", "aria-label": `Source ${name}` }, h("h2", {}, source ? source.title : name), found.filter((claim) => claim.source === name).map(item));
      });
      fill(list, groups.length ? groups : h("div", { class: "empty" }, h("h2", {}, "No claim fits"), h("p", {}, "Choose another outcome, source, kind or status, or shorten the search."),
        h("button", { type: "button", class: "quiet", onclick: () => { search.value = ""; change({ outcome: "", source: "", kind: "", status: "", q: "" }); drawControls(); } }, "Show all claims")));
    }

    async function load() {
      fill(list, h("p", { class: "loading" }, "Judging the claims by what is in the store …"));
      try {
        answer = await context.api.get("/api/ledger");
      } catch (error) {
        fill(list);
        context.fail(error);
        return;
      }
      context.clear();
      fill(lead, answer.summary);
      fill(root, lead, h("p", { class: "hint" }, answer.multiplicity), answer.empty && h(
        "div", { class: "empty" }, h("h2", {}, "Nothing has been run here yet"),
        h("p", {}, `The store ${answer.store} holds no finished study: the verdicts below are from results that come with Rote. Run everything at a small scale, or one study:`),
        h("pre", {}, h("code", {}, "rote reproduce\nrote run plane")),
      ), counts, controls, said, list);
      drawControls();
      draw();
    }

    fill(root, list);
    load();
    return {
      data() {
        const columns = ["claim", "kind", "source", "place", "statement", "published", "verdict", "scale", "assertion", "role", "expected", "k", "n", "share_low", "share_high", "mean", "low", "high", "outcome"];
        const rows = (answer ? matching() : []).flatMap((claim) => {
          const labels = [claim.claim, claim.kind, claim.source, claim.place, claim.statement, claim.published, claim.verdict];
          const counted = claim.rows.flatMap((row) => row.cells.filter((cell) => cell.n).map((cell) => [
            ...labels, cell.scale, row.label, row.role, row.expected, cell.k, cell.n, ...cell.share, cell.estimate.value, cell.estimate.low, cell.estimate.high, cell.outcome,
          ]));
          return counted.length ? counted : [[...labels, ...columns.slice(labels.length).map(() => null)]];
        });
        return { columns, rows };
      },
      svg: () => (answer ? overview(matching(), answer) : null),
    };
  },
};

// All claims as one picture: a row of marks for each source.
function overview(claims, { sources: known, outcomes }) {
  const height = 44;
  const colors = {
    supported: "var(--yes)", holds: "var(--yes)", contradicted: "var(--no)", "does not hold": "var(--no)", open: "var(--open)", void: "var(--half)", tested: "var(--none)", "not run": "var(--none)",
  };
  const names = sources(claims);
  const width = Math.max(790, 30 + 18 * Math.max(0, ...names.map((name) => claims.filter((claim) => claim.source === name).length)));
  const text = (value, x, y, size, ink) => svg("text", { x, y, "font-size": size, fill: ink, "font-family": "var(--sans)" }, value);
  const rows = names.map((name, at) => {
    const marks = claims.filter((claim) => claim.source === name).map((claim, index) => svg(
      "g", {}, svg("title", {}, `${claim.verdict}: ${claim.statement}`),
      svg("circle", { cx: 20 + 18 * index, cy: 30 + at * height, r: 6, fill: claim.verdict === "not run" ? "none" : colors[claim.verdict], stroke: colors[claim.verdict], "stroke-width": 1.5 }),
    ));
    const source = known.find((candidate) => candidate.name === name);
    return svg("g", {}, text(source ? source.title : name, 14, 16 + at * height, 12, "var(--ink)"), marks);
  });
  const bottom = names.length * height + 20;
  const legend = outcomes.map((outcome, index) => svg("g", {}, svg("circle", { cx: 20 + 95 * index, cy: bottom, r: 5, fill: outcome === "not run" ? "none" : colors[outcome], stroke: colors[outcome] }), text(outcome, 30 + 95 * index, bottom + 4, 11, "var(--muted)")));
  return svg("svg", { width, height: bottom + 16, viewBox: `0 0 ${width} ${bottom + 16}` }, rows, legend);
}
