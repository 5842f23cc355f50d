// The claims with their verdicts at every scale: filter by outcome, source, kind, status and text; open one to see why.
import { debounce, field, fill, h, number, select } from "../lib/dom.js";
import { badge, sign, tone } from "../lib/outcome.js";
import { card, drawn } from "./ledger/card.js";
import { overview, sources } from "./ledger/overview.js";

const STATUSES = [["", "Any"], ["confirmatory", "confirmatory"], ["exploratory", "exploratory"]];
const KINDS = { asserted: "asserted", cited: "in a cited work", implied: "implied", ours: "ours", identity: "identities", audit: "audits" };
const PRESENTED = 940; // pixels of the overview's lines in presenter mode
const FILTERS = ["outcome", "source", "kind", "status", "q"];

// The first published number beside ours where there is one, else what the source says.
function published({ numbers, published: said }) {
  if (!numbers.length) return h("small", { class: "as-said", title: said }, said);
  const [{ scale, comparison: found }] = numbers;
  return h("small", { class: "as-said" }, `${found.label}: published ${found.published}, here ${number(found.ours)} (${scale})${numbers.length > 1 ? `, and ${numbers.length - 1} more` : ""}`);
}

export const view = {
  name: "ledger",
  title: "Ledger",
  mount(root, context) {
    const begin = context.state.get();
    const chosen = { ...Object.fromEntries(FILTERS.map((name) => [name, begin[name] || ""])), open: new Set((begin.open || "").split(",").filter(Boolean)) };
    let answer = null;
    const lead = h("p", { class: "lead" });
    const all = h("div", { class: "scroll claims-overview", role: "region", tabindex: 0, "aria-label": "Overview of all claims" });
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

    function show(claim) {
      const box = list.querySelector(`#claim-${claim.claim}`);
      box.open = true;
      box.scrollIntoView({ block: "start" });
      box.querySelector("summary").focus({ preventScroll: true });
    }

    function item(claim) {
      const [nearest, ...others] = claim.verdicts;
      const line = (found) => h("span", { class: `line ${tone(found.outcome)}` }, h("b", {}, claim.kind === "audit" ? "" : found.count), ` ${found.label}, ${found.where}`, found !== nearest && `: ${found.outcome}`);
      const box = h(
        "details", { class: `claim ${tone(claim.verdict)}`, id: `claim-${claim.claim}`, open: chosen.open.has(claim.claim) },
        h("summary", {},
          h("span", { class: "signs" }, badge(claim.verdict), claim.differs_by_scale && h("span", { class: "tag flag", title: "Decided otherwise at another scale" }, "scale")),
          h("span", { class: "said" }, claim.statement, nearest.caveats.length > 0 && h("small", {}, `but ${nearest.caveats.join("; ")}`), published(claim)),
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

    // In presenter mode the picture is scaled to its room, so that it keeps its lines.
    const room = () => (document.documentElement.classList.contains("presenting") ? PRESENTED : Math.max(200, all.clientWidth));
    const drawOverview = () => fill(all, overview(matching(), answer, room(), show));
    const resized = new ResizeObserver(() => answer && drawOverview());
    resized.observe(all);

    function draw() {
      const found = matching();
      drawCounts();
      drawOverview();
      const tallied = found.filter((claim) => claim.tallied).length;
      const counted = tallied === found.length ? "all of the tally" : `${tallied} of the tally, the others are ours, identities or audits`;
      said.textContent = `${found.length === answer.claims.length ? `${found.length} claims` : `Showing ${found.length} of ${answer.claims.length} claims`}${found.length ? `: ${counted}` : ""}.`;
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
      fill(root, h("section", { class: "claims-head", "aria-label": "All claims" }, lead, h("p", { class: "hint" }, answer.multiplicity), answer.empty && h(
        "div", { class: "empty" }, h("h2", {}, "Nothing has been run here yet"),
        h("p", {}, `The store ${answer.store} holds no finished study: the verdicts below are from results that come with Rote. Run everything at a small scale, or one study:`),
        h("pre", {}, h("code", {}, "rote reproduce\nrote run plane")),
      ), all, counts, controls, said), list);
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
      svg: () => (answer ? overview(matching(), answer, 1000) : null),
      unmount: () => resized.disconnect(),
    };
  },
};
