// Every stored run: find some, choose up to twelve, and compare their curves and settings.
import { answering } from "../lib/answering.js";
import { lineChart } from "../lib/chart.js";
import { category } from "../lib/color.js";
import { debounce, field, fill, h, number, select } from "../lib/dom.js";
import { badge } from "../lib/outcome.js";
import { opening } from "./runs/opening.js";
import { parallelCoordinates } from "./runs/parallel.js";
import { worthSeeing } from "./runs/worth_seeing.js";

const MOST = 12;
const PAGE = 60;
const MARKS = 3; // settings in a name
const EVERY = 3000; // milliseconds between looks at runs that are going on
const COLUMNS = [["study", "Study"], ["part", "Part"], ["status", "Status"], ["seeds", "Seeds"], ["started", "Started"], ["seconds", "Time"]];

const time = (seconds) => (seconds < 60 ? `${number(seconds, 2)} s` : seconds < 3600 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`);
const when = (started) => started.slice(0, 16).replace("T", " ");
const briefly = (started) => when(started).slice(5);
const plain = (value) => (value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));
const plainTitle = (run) => `${run.study} ${run.part}${run.label ? ` ${run.label}` : ""}${run.seeds === 1 && run.facts && run.facts.seeds ? `, seed ${run.facts.seeds[0]}` : ""}`;

export const view = {
  name: "runs",
  title: "Runs",
  mount(root, context) {
    const begin = context.state.get();
    const chosen = {
      q: begin.q || "", study: begin.study || "", status: begin.status || "", sort: begin.sort || "-started", measure: begin.measure || "", log: begin.log || "",
      runs: (begin.runs || "").split(",").filter(Boolean).slice(0, MOST),
    };
    let answer = null;
    let compared = null;
    let chart = null;
    let shown = PAGE;
    let tried = null; // every setting of the recipe of the first run that is compared
    const parallel = parallelCoordinates((id) => toggle(id));
    const search = h("input", { type: "search", value: chosen.q, placeholder: "study, part or id", oninput: debounce((event) => change({ q: event.target.value }), 120) });
    const filters = h("div", { class: "controls" });
    const said = h("p", { class: "filtered", role: "status" });
    const table = h("div", { class: "scroll run-list", role: "region", tabindex: "0", "aria-label": "Runs" });
    const comparison = h("div", { class: "comparison-panel" });
    const current = answering(comparison, (signal, question) => context.api.post("/api/runs/compare", question, { signal }), () => {
      compared = null;
      drawComparison();
    });

    function change(patch) {
      Object.assign(chosen, patch);
      if (!("runs" in patch) && !("measure" in patch) && !("log" in patch)) shown = PAGE;
      context.state.set({ ...chosen, runs: chosen.runs.join(","), sort: chosen.sort === "-started" ? "" : chosen.sort });
      if ("measure" in patch || "log" in patch) drawCurves();
      else drawList();
      if ("runs" in patch) compare();
    }

    function matching() {
      const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
      const found = answer.runs.filter((run) => {
        const text = `${run.id} ${run.study} ${run.part} ${run.label} ${run.preset} ${run.status}`.toLowerCase();
        return (!chosen.study || run.study === chosen.study) && (!chosen.status || run.status === chosen.status) && words.every((word) => text.includes(word));
      });
      const key = chosen.sort.replace("-", "");
      const sign = chosen.sort.startsWith("-") ? -1 : 1;
      return found.sort((a, b) => sign * (typeof a[key] === "number" ? a[key] - b[key] : String(a[key]).localeCompare(String(b[key]), "en", { numeric: true })));
    }

    function toggle(id) {
      const runs = chosen.runs.includes(id) ? chosen.runs.filter((other) => other !== id) : [...chosen.runs, id];
      if (runs.length > MOST) context.announce(`At most ${MOST} runs are compared at a time.`);
      change({ runs: runs.slice(0, MOST) });
    }

    function drawFilters() {
      const named = (key, all) => [["", all], ...[...new Set(answer.runs.map((run) => run[key]))].sort().map((name) => [name, name])];
      fill(
        filters,
        field("Search", search, { class: "field wide" }),
        field("Study", select(named("study", "All studies"), chosen.study, (study) => change({ study }))),
        field("Status", select(named("status", "Any status"), chosen.status, (status) => change({ status }))),
      );
    }

    function heading([key, name]) {
      const sorted = chosen.sort.replace("-", "") === key;
      const direction = chosen.sort.startsWith("-") ? "descending" : "ascending";
      const next = sorted && direction === "ascending" ? `-${key}` : key;
      return h("th", { scope: "col", class: key === "seeds" || key === "seconds" ? "number" : key === "started" ? "date" : "", "aria-sort": sorted && direction },
        h("button", { type: "button", class: "sort", "data-sort": key, onclick: () => { change({ sort: next }); table.querySelector(`[data-sort=${key}]`).focus(); } }, h("span", { class: "name" }, name)));
    }

    function row(run) {
      const at = chosen.runs.indexOf(run.id);
      const full = chosen.runs.length >= MOST && at < 0;
      const box = h("input", { type: "checkbox", checked: at >= 0, disabled: full, "aria-label": `Compare ${run.study} ${run.part} ${run.id}`, "data-run": run.id, onchange: () => { toggle(run.id); refocus(run.id); } });
      const mark = at >= 0 && h("span", { class: "swatch", style: { background: category(at) } });
      return h(
        "tr", { class: at >= 0 ? "chosen" : "", onclick: (event) => { if (event.target !== box && !full) toggle(run.id); } },
        h("td", { class: "pick" }, box, mark),
        h("th", { scope: "row" }, run.study, h("small", {}, `${run.id.slice(0, 10)} ${run.preset}`)),
        h("td", {}, run.label ? `${run.part}, ${run.label}` : run.part), h("td", {}, badge(run.status), progress(run), run.error && h("small", { class: "reason" }, run.error)),
        h("td", { class: "number" }, String(run.seeds)), h("td", { class: "date", title: when(run.started) }, briefly(run.started)), h("td", { class: "number" }, time(run.seconds)),
      );
    }

    // Of a run that is going on: how far it has come.
    function progress(run) {
      if (run.step === undefined || run.step === null) return null;
      const told = run.steps ? `step ${run.step} of ${run.steps}` : `step ${run.step}`;
      return [run.steps ? h("progress", { max: run.steps, value: run.step, "aria-label": told }) : null, h("small", {}, told)];
    }

    function refocus(id) {
      const box = table.querySelector(`[data-run="${id}"]`);
      if (box) box.focus();
    }

    function drawList() {
      const found = matching();
      said.textContent = `${found.length === answer.runs.length ? `${found.length} runs` : `${found.length} of ${answer.runs.length} runs`}${chosen.runs.length ? `, ${chosen.runs.length} compared` : ""}.`;
      const rest = found.length - shown;
      fill(
        table,
        h("table", { class: "runs-table" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden" }, "Compare")), COLUMNS.map(heading))), h("tbody", {}, found.slice(0, shown).map(row))),
        rest > 0 && h("button", { type: "button", class: "quiet more", onclick: () => { shown += 4 * PAGE; drawList(); } }, `Show ${Math.min(rest, 4 * PAGE)} more`),
        !found.length && h("p", { class: "hint" }, "No run fits. Shorten the search, or choose another study or status."),
      );
    }

    async function compare() {
      if (!chosen.runs.length) {
        current.forget();
        return;
      }
      if (!compared) fill(comparison, h("p", { class: "loading" }, "Reading the curves …"));
      try {
        const got = await current.ask({ runs: chosen.runs });
        if (!got) return;
        compared = got.answer;
        tried = await context.api.post("/api/runs/settings", { run: got.question.runs[0] });
        if (current.held !== got) return; // meanwhile others are compared
        context.clear();
        drawComparison();
      } catch (error) {
        context.fail(error);
      }
    }

    function measures() {
      const names = new Set(compared.runs.flatMap((run) => Object.keys(run.curves)));
      return [...names].sort((a, b) => (b === "loss") - (a === "loss") || a.localeCompare(b));
    }

    function drawComparison() {
      if (chart) chart.destroy();
      chart = null;
      if (!compared) {
        fill(comparison, h("div", { class: "panel inviting" }, h("h2", {}, "Compare runs"), h("p", { class: "hint" }, `Choose up to ${MOST} runs from the list to see their curves in one chart and the settings on which they differ.`)));
        return;
      }
      const problems = compared.runs.filter((run) => run.problem).map((run) => h("p", { class: "problem" }, run.problem));
      const names = measures();
      const panel = h("section", { class: "panel", "aria-label": "Curves" });
      const opened = !context.api.recorded && opening(compared.runs, compared.runs.map(head), context.api);
      fill(comparison, problems, panel, parallel.element, opened, settings(), facts());
      if (!names.length) {
        fill(panel, h("h2", {}, "Curves"), h("p", { class: "hint" }, "What is chosen recorded no curves: summaries and measurements train nothing. Choose a run of a part that trains."));
        return;
      }
      const log = h("input", { type: "checkbox", checked: chosen.log === "1", onchange: (event) => change({ log: event.target.checked ? "1" : "" }) });
      chart = lineChart({ series: [], height: 300 });
      fill(
        panel, h("h2", {}, "Curves"),
        h("div", { class: "controls" }, field("Measure", select(names.map((name) => [name, name]), measure(), (name) => change({ measure: name }))), h("label", { class: "choice" }, log, "Logarithmic"),
          h("button", { type: "button", class: "quiet", onclick: () => change({ runs: [] }) }, "Clear the selection")),
        chart.element, h("p", { class: "hint small" }, "Line: mean over the seeds of a run. Band: the middle 80 % of them."),
      );
      drawCurves();
    }

    function measure() {
      const names = measures();
      return names.includes(chosen.measure) ? chosen.measure : names[0];
    }

    function drawCurves() {
      if (!chart) return;
      const name = measure();
      parallel.update(tried, name, chosen.runs);
      const series = compared.runs.flatMap((run, index) => {
        const curve = run.curves[name];
        return curve ? [{ name: title(run), points: curve.points, band: chosen.log ? [] : curve.band, color: category(index) }] : [];
      });
      chart.update({ series, x: { label: "step" }, y: { label: name, log: chosen.log === "1" } });
    }

    // Runs that would be called the same are told apart by their settings.
    function title(run) {
      const name = plainTitle(run);
      const same = compared.runs.map((other, at) => at).filter((at) => plainTitle(compared.runs[at]) === name);
      const apart = compared.differences.filter(({ values }) => new Set(same.map((at) => plain(values[at]))).size > 1).slice(0, MARKS);
      return [name, ...apart.map(({ key, values }) => `${key.split(".").at(-1)} ${plain(values[compared.runs.indexOf(run)])}`)].join(", ");
    }

    function header(first) {
      return h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first), compared.runs.map((run, index) => h("th", { scope: "col" }, head(run, index)))));
    }

    function head(run, index) {
      return [h("span", { class: "swatch", style: { background: category(index) } }), title(run)];
    }

    function settings() {
      const rows = compared.differences;
      const text = compared.runs.length < 2 ? "Choose a second run to see where their settings differ." : "Their settings are the same; they differ in seed or part.";
      return h(
        "section", { class: "panel", "aria-label": "Settings" }, h("h2", {}, "Settings that differ"),
        rows.length ? h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Settings that differ" }, h("table", { class: "data" }, header("setting"), h("tbody", {}, rows.map((item) => h("tr", {}, h("th", { scope: "row" }, item.key), item.values.map((value) => h("td", {}, plain(value)))))))) : h("p", { class: "hint" }, text),
      );
    }

    function facts() {
      const told = (run) => [
        ["run", run.id], ["status", run.status], ["seeds", seeds(run.facts.seeds || [])], ["started", when(run.started)], ["time", time(run.seconds)], ["device", run.facts.device || "–"],
        ["overrides", Object.entries(run.facts.overrides || {}).map(([key, value]) => `${key}=${value}`).join(", ") || "none"],
        ["made from", (run.facts["made from"] || []).length ? `${run.facts["made from"].length} runs` : "itself"], ["commit", (run.facts.commit || "–").slice(0, 10)],
        ["torch", (run.facts.packages || {}).torch || "–"], ["python", run.facts.python || "–"],
      ];
      const all = compared.runs.map(told);
      return h("section", { class: "panel", "aria-label": "Facts" }, h("h2", {}, "How they were made"),
        h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Facts" }, h("table", { class: "data" }, header("fact"), h("tbody", {}, all[0].map(([name], at) => h("tr", {}, h("th", { scope: "row" }, name), all.map((run) => h("td", {}, run[at][1]))))))));
    }

    async function load() {
      fill(root, h("p", { class: "loading" }, "Reading the store …"));
      try {
        answer = await context.api.get("/api/runs");
      } catch (error) {
        fill(root);
        context.fail(error);
        return;
      }
      if (!answer.runs.length) {
        fill(root, h("div", { class: "empty" }, h("h2", {}, "The store is empty"), h("p", {}, `Nothing has been run in ${answer.store} yet. A first study takes seconds:`), h("pre", {}, h("code", {}, "rote run plane")),
          h("p", { class: "hint" }, "Is your store elsewhere? Start the explorer with --store DIR, or set ROTE_HOME.")));
        return;
      }
      chosen.runs = chosen.runs.filter((id) => answer.runs.some((run) => run.id === id));
      if (!Object.keys(chosen).some((name) => begin[name])) chosen.runs = worthSeeing(matching(), MOST);
      fill(root, h("p", { class: "hint" }, `Store: ${answer.store}`), h("div", { class: "side-by-side" }, h("div", { class: "run-side" }, filters, said, table), comparison));
      drawFilters();
      drawList();
      compare();
      if (!chosen.runs.length) drawComparison();
      watch();
    }

    // While runs are going on the list is read again, and with it the curves of those that are compared.
    let timer = 0;
    const going = () => answer.runs.filter((run) => run.status === "running").map((run) => run.id);
    function watch() {
      if (context.api.recorded || !going().length) return;
      timer = setTimeout(async () => {
        const before = going();
        try {
          answer = await context.api.get("/api/runs");
          drawList();
          if (chosen.runs.some((id) => before.includes(id))) await compare();
          watch();
        } catch (error) {
          context.fail(error);
        }
      }, EVERY);
    }

    load();
    return {
      unmount() {
        clearTimeout(timer);
        if (chart) chart.destroy();
      },
      data() {
        if (compared) {
          const rows = compared.runs.flatMap((run) => Object.entries(run.curves).flatMap(([name, curve]) => curve.points.map(([step, value]) => [run.id, run.study, run.part, name, step, value])));
          return { columns: ["run", "study", "part", "measure", "step", "mean"], rows };
        }
        const keys = ["id", "preset", ...COLUMNS.map(([key]) => key)];
        return { columns: keys, rows: answer ? matching().map((run) => keys.map((key) => run[key])) : [] };
      },
      svg: () => (chart ? chart.svg() : null),
    };
  },
};

function seeds(list) {
  const together = list.length > 1 && list.every((seed, index) => seed === list[0] + index);
  return together ? `${list[0]} to ${list[list.length - 1]}` : list.join(", ") || "–";
}
