// The claims with their verdicts and the evidence: filter by verdict, source, preset and text; open one to see why.
import { debounce, field, fill, h, number, select, svg } from "../lib/dom.js";
import { badge, sign, tone } from "../lib/outcome.js";

const OUTCOMES = ["reproduced", "partly", "not reproduced", "inconclusive", "not run"];
const PRESETS = [["", "Most thorough"], ["paper", "paper"], ["quick", "quick"], ["smoke", "smoke"]];

const interval = ({ value, low, high }) => `${number(value)} [${number(low)}, ${number(high)}]`;
const sources = (claims) => [...new Set(claims.map((claim) => claim.source))];

function picture(item) {
  const { plot } = item;
  if (!plot) return null;
  const middle = plot.height / 2;
  const upright = (x, kind) => svg("line", { class: kind, x1: x, x2: x, y1: 1, y2: plot.height - 1 });
  return svg(
    "svg",
    { class: `interval ${tone(item.outcome)}`, viewBox: `0 0 ${plot.width} ${plot.height}`, width: plot.width, height: plot.height, "aria-hidden": "true" },
    svg("rect", { class: "confirms", x: plot.confirmed[0], y: 1, width: plot.confirmed[1], height: plot.height - 2, rx: 2 }),
    svg("line", { class: "axis", x1: 0, x2: plot.width, y1: middle, y2: middle }),
    upright(plot.size, "limit"),
    plot.at_all !== plot.size && upright(plot.at_all, "limit weak"),
    svg("line", { class: "range", x1: plot.low, x2: plot.high, y1: middle, y2: middle }),
    svg("circle", { class: "value", cx: plot.value, cy: middle, r: 4 }),
  );
}

function evidence(claim) {
  const head = ["Measured", "Expected", "Ours [95 %]", "Shaded: confirms", "Outcome"];
  const rows = claim.evidence.map((item) => {
    const { estimate } = item;
    const chance = estimate.p === null ? "" : `, p ${estimate.p < 0.001 ? "< 0.001" : `= ${number(estimate.p)}`}`;
    return h(
      "tr", { class: `role-${item.role}` },
      h("th", { scope: "row" }, item.role !== "main" && [h("span", { class: "tag" }, item.role), " "], item.label, h("small", {}, estimate.test)),
      h("td", { "data-label": "Expected", class: "expected" }, h("span", {}, item.expected)),
      h("td", { "data-label": "Ours", class: "estimate" }, h("span", {}, interval(estimate)), h("small", {}, `n = ${estimate.n}${chance}`)),
      h("td", { "data-label": "", class: "picture" }, picture(item)),
      h("td", { "data-label": "Outcome" }, badge(item.outcome)),
    );
  });
  return h(
    "div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Evidence on ${claim.claim}` },
    h("table", { class: "evidence stacks" }, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)),
  );
}

function body(claim) {
  const shown = claim.runs.slice(0, 12);
  return h(
    "div", { class: "claim-body" },
    h("dl", { class: "comparison" }, h("div", { class: "published" }, h("dt", {}, "Published"), h("dd", {}, claim.published || "–"))),
    (!claim.evidence.length || claim.settle) && h("p", { class: "reason" }, claim.settle || claim.reason),
    claim.evidence.length > 0 && evidence(claim),
    claim.remark && h("p", { class: "remark" }, claim.remark),
    h(
      "p", { class: "hint" }, `Study ${claim.study}: ${claim.study_title}.`,
      claim.runs.length > 0 && [" ", h("a", { href: `#/runs?q=${encodeURIComponent(claim.study)}&runs=${shown.slice(1).join(",") || shown[0]}` }, `See its ${claim.runs.length} runs`)],
      claim.runs.length === 0 && [" Run it: ", h("code", {}, `rote run ${claim.study}`)],
    ),
  );
}

export const view = {
  name: "ledger",
  title: "Ledger",
  mount(root, context) {
    const begin = context.state.get();
    const chosen = { verdict: begin.verdict || "", source: begin.source || "", q: begin.q || "", preset: begin.preset || "", open: new Set((begin.open || "").split(",").filter(Boolean)) };
    let answer = null;
    const lead = h("p", { class: "lead" });
    const counts = h("ul", { class: "counts", "aria-label": "Claims by outcome" });
    const controls = h("div", { class: "controls" });
    const said = h("p", { class: "filtered", role: "status" });
    const list = h("div", {});

    const search = h("input", { type: "search", value: chosen.q, placeholder: "word of a claim, study, place", oninput: debounce((event) => change({ q: event.target.value }), 120) });

    function change(patch) {
      Object.assign(chosen, patch);
      context.state.set({ verdict: chosen.verdict, source: chosen.source, q: chosen.q, preset: chosen.preset, open: [...chosen.open].join(",") });
      if (patch.preset !== undefined) load();
      else if (patch.open === undefined) draw();
    }

    function matching() {
      const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
      return answer.claims.filter((claim) => {
        const text = [claim.claim, claim.statement, claim.published, claim.study, claim.place, claim.source, claim.remark].join(" ").toLowerCase();
        return (!chosen.verdict || claim.verdict === chosen.verdict) && (!chosen.source || claim.source === chosen.source) && words.every((word) => text.includes(word));
      });
    }

    function drawCounts() {
      fill(counts, OUTCOMES.map((outcome) => h(
        "li", { class: `${tone(outcome)} ${answer.counts[outcome] ? "" : "none"}` },
        h("button", { type: "button", "aria-pressed": String(chosen.verdict === outcome), onclick: () => change({ verdict: chosen.verdict === outcome ? "" : outcome }) },
          h("span", { class: "count" }, String(answer.counts[outcome])), h("span", { class: "outcome" }, sign(outcome), outcome)),
      )));
    }

    function drawControls() {
      const titles = [["", "All sources"], ...answer.sources.map((source) => [source.name, `${source.id} ${source.name}`])];
      fill(
        controls,
        field("Search", search, { class: "field wide" }),
        field("Source", select(titles, chosen.source, (source) => change({ source }))),
        field("Preset", select(PRESETS, chosen.preset, (preset) => change({ preset }))),
        h("button", { type: "button", class: "quiet", onclick: () => unfold() }, "Open or close all"),
      );
    }

    function unfold() {
      const boxes = [...list.querySelectorAll("details.claim")];
      const open = boxes.some((box) => !box.open);
      boxes.forEach((box) => { box.open = open; });
    }

    function item(claim) {
      const main = claim.evidence.filter((measured) => measured.role === "main");
      const ours = main.length ? interval(main[0].estimate) : "not run";
      const box = h(
        "details", { class: `claim ${tone(claim.verdict)}`, id: `claim-${claim.claim}`, open: chosen.open.has(claim.claim) },
        h("summary", {},
          badge(claim.verdict),
          h("span", { class: "said" }, claim.statement),
          h("span", { class: "figures" }, main.length > 0 && h("span", { class: "ours" }, ours), h("span", { class: "place" }, claim.preset ? `${claim.place} · ${claim.preset}` : claim.place)),
        ),
      );
      const opened = () => {
        if (box.open && box.children.length === 1) box.append(body(claim));
        if (box.open === chosen.open.has(claim.claim)) return;
        if (box.open) chosen.open.add(claim.claim);
        else chosen.open.delete(claim.claim);
        change({ open: chosen.open });
      };
      box.addEventListener("toggle", opened);
      if (box.open) box.append(body(claim));
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
      fill(list, groups.length ? groups : h("div", { class: "empty" }, h("h2", {}, "No claim fits"), h("p", {}, "Choose another verdict or source, or shorten the search."),
        h("button", { type: "button", class: "quiet", onclick: () => { search.value = ""; change({ verdict: "", source: "", q: "" }); drawControls(); } }, "Show all claims")));
    }

    async function load() {
      fill(list, h("p", { class: "loading" }, "Judging the claims by what is in the store …"));
      try {
        answer = await context.api.get(`/api/ledger?preset=${chosen.preset}`);
      } catch (error) {
        fill(list);
        context.fail(error);
        return;
      }
      context.clear();
      fill(lead, answer.summary);
      fill(root, lead, answer.empty && h(
        "div", { class: "empty" }, h("h2", {}, "Nothing has been run yet"),
        h("p", {}, `The store ${answer.store} holds no finished study, so every claim still waits for its verdict. Run everything at a small scale, or one study:`),
        h("pre", {}, h("code", {}, "rote reproduce\nrote run plane")),
      ), counts, controls, said, list);
      drawControls();
      draw();
    }

    fill(root, list);
    load();
    return {
      data() {
        const columns = ["claim", "source", "place", "statement", "published", "verdict", "preset", "measurement", "role", "expected", "ours", "low", "high", "n"];
        const rows = (answer ? matching() : []).flatMap((claim) => {
          const labels = [claim.claim, claim.source, claim.place, claim.statement, claim.published, claim.verdict, claim.preset];
          const measured = claim.evidence.map(({ label, role, expected, estimate }) => [...labels, label, role, expected, estimate.value, estimate.low, estimate.high, estimate.n]);
          return measured.length ? measured : [[...labels, null, null, null, null, null, null, null]];
        });
        return { columns, rows };
      },
      svg: () => (answer ? overview(matching(), answer.sources) : null),
    };
  },
};

// All claims as one picture: a row of marks for each source.
function overview(claims, known) {
  const height = 44;
  const colors = { reproduced: "var(--yes)", partly: "var(--half)", "not reproduced": "var(--no)", inconclusive: "var(--open)", "not run": "var(--none)" };
  const names = sources(claims);
  const width = Math.max(520, 30 + 18 * Math.max(0, ...names.map((name) => claims.filter((claim) => claim.source === name).length)));
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
  const legend = OUTCOMES.map((outcome, index) => svg("g", {}, svg("circle", { cx: 20 + 100 * index, cy: bottom, r: 5, fill: outcome === "not run" ? "none" : colors[outcome], stroke: colors[outcome] }), text(outcome, 30 + 100 * index, bottom + 4, 11, "var(--muted)")));
  return svg("svg", { width, height: bottom + 16, viewBox: `0 0 ${width} ${bottom + 16}` }, rows, legend);
}
