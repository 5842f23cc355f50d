// The profiles of examined models: all of them by dimension, and two of them task by task.
import { category } from "../lib/color.js";
import { field, fill, h, latest, select, svg } from "../lib/dom.js";

const LOW = -0.5;
const HIGH = 1.05;
const ROW = 26;
const LEFT = 110;
const WIDTH = 640;
const at = (score) => LEFT + ((Math.min(HIGH, Math.max(LOW, score)) - LOW) / (HIGH - LOW)) * (WIDTH - LEFT - 20);
const hundredths = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
const wide = (label, ...inside) => h("div", { class: "wide-table", tabindex: "0", role: "region", "aria-label": label }, ...inside); // scrolls on a phone
const interval = (told) => (told ? `${hundredths(told.low)} to ${hundredths(told.high)}` : "");

// A number with a bar of its length below it.
function bar(told) {
  if (!told) return h("td", { class: "share none" }, "–");
  const length = 48 * Math.min(1, Math.max(0, told.value));
  const drawn = svg("svg", { width: 48, height: 4, "aria-hidden": "true" }, svg("rect", { class: "ground", width: 48, height: 4 }), svg("rect", { class: "bar", width: length, height: 4 }));
  return h("td", { class: "share", title: interval(told) }, hundredths(told.value), drawn);
}

// A strip for each task: the mean of each profile with its interval, lines at rote and rule.
function strips(tasks, chosen) {
  const height = ROW * tasks.length + 34;
  const ends = [[0, "rote"], [1, "rule"]].map(([score, name]) => [
    svg("line", { class: "end", x1: at(score), x2: at(score), y1: 18, y2: height - 12 }),
    svg("text", { x: at(score), y: 12, "text-anchor": "middle" }, name),
  ]);
  const rows = tasks.map((task, place) => {
    const middle = 34 + ROW * place;
    const marks = chosen.map((profile, index) => {
      const told = profile.tasks.find((row) => row.task === task);
      if (!told || told.score === null) return null;
      const y = middle + (chosen.length > 1 ? 5 * (2 * index - 1) : 0);
      const shape = index ? svg("rect", { x: at(told.score) - 4, y: y - 4, width: 8, height: 8, fill: category(index) }) : svg("circle", { cx: at(told.score), cy: y, r: 4.5, fill: category(index) });
      return [Number.isFinite(told.low) && Number.isFinite(told.high) && svg("line", { x1: at(told.low), x2: at(told.high), y1: y, y2: y, stroke: category(index), "stroke-width": 2 }), shape];
    });
    return svg("g", {}, svg("text", { x: LEFT - 10, y: middle + 4, "text-anchor": "end" }, task), marks);
  });
  const names = chosen.map((profile) => profile.name).join(" and ");
  return svg("svg", { class: "strips", width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `Scores of ${names} by task, between rote and rule; the table below has the numbers` }, ends, rows);
}

export const view = {
  name: "profiles",
  title: "Profiles",
  mount(root, context) {
    const chosen = { first: "", second: "", ...context.state.get() };
    let answer = null;
    let drawn = null;
    const all = wide("All profiles");
    const controls = h("div", { class: "controls" });
    const two = h("div", { "aria-live": "polite" });
    const ask = latest((signal, first, second) => context.api.post("/api/profiles/compare", { first, second }, { signal }));

    const found = (key) => answer.profiles.find((profile) => profile.key === key);

    function change(patch) {
      Object.assign(chosen, patch);
      context.state.set({ first: chosen.first, second: chosen.second });
      drawAll();
      compare();
    }

    function line(profile) {
      const told = profile.index;
      return h(
        "tr", { class: profile.key === chosen.first || profile.key === chosen.second ? "chosen" : "" },
        h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => change({ first: profile.key }) }, profile.name), !profile.kept && h("small", {}, "of this store")),
        h("td", {}, told ? hundredths(told.value) : "–", told && h("small", {}, interval(told))),
        answer.dimensions.map((name) => bar(profile.dimensions[name])),
        h("td", {}, `${profile.scored} of ${profile.asked}`),
        h("td", { title: interval(profile.all) }, profile.all ? hundredths(profile.all.value) : "–"),
        h("td", {}, profile.bits ? Math.round(profile.bits.value).toLocaleString("en") : "–"),
        h("td", {}, profile.parameters ? profile.parameters.toLocaleString("en") : "–"),
      );
    }

    function drawAll() {
      const heads = ["profile", "index", ...answer.dimensions, "tasks learned", "index if the others count 0", "memory, bits", "parameters"];
      fill(all, h("table", {}, h("caption", {}, "Scores between rote (0) and rule (1), by dimension"), h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, answer.profiles.map(line))));
    }

    function drawControls() {
      const names = answer.profiles.map((profile) => [profile.key, profile.kept ? profile.name : `${profile.name}, of this store`]);
      fill(
        controls,
        field("Profile", select(names, chosen.first, (first) => { change({ first }); })),
        field("Compare with", select([["", "nothing"], ...names], chosen.second, (second) => { change({ second }); })),
      );
    }

    function task(row, mine, other, difference) {
      return h(
        "tr", {}, h("th", { scope: "row" }, row.task), h("td", {}, row.dimension), h("td", {}, hundredths(row.score)), h("td", {}, row.outcome),
        other && [h("td", {}, hundredths(other.score)), h("td", {}, other.outcome), h("td", {}, difference ? `${hundredths(difference.difference)} (${interval(difference)})` : "–"), h("td", {}, difference ? `${difference.composes}, ${difference.more} of ${difference.seeds} seeds` : "–")],
      );
    }

    async function compare() {
      const first = found(chosen.first);
      const second = found(chosen.second);
      let rows = [];
      if (second) {
        try {
          const told = await ask(first.key, second.key);
          if (told === undefined) return;
          rows = told.rows;
        } catch (error) {
          context.fail(error);
          return;
        }
      }
      context.clear();
      const shown = [first, second].filter(Boolean);
      const tasks = first.tasks.filter((row) => row.dimension !== "memory");
      drawn = strips(tasks.map((row) => row.task), shown);
      const heads = ["task", "dimension", first.name, "outcome", ...(second ? [second.name, "outcome", "difference", `composes more or less than ${second.name}`] : [])];
      const body = tasks.map((row) => task(row, first, second && (second.tasks.find((one) => one.task === row.task) || { score: null, outcome: "not asked" }), rows.find((one) => one.task === row.task)));
      fill(
        two,
        shown.map((profile, index) => h("p", { class: "told" }, h("span", { class: `mark mark-${index}`, style: { "background-color": category(index) }, "aria-hidden": "true" }), h("b", {}, profile.name), ` ${profile.sentence}`)),
        wide("Scores by task, drawn", drawn),
        h("div", { class: "by-task" }, wide("Scores by task", h("table", {}, h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, body)))),
        h("p", { class: "hint" }, `${first.name}: ${first.seeds} seeds. Made by ${first.made_by.join("; ") || "an unknown version"}.`),
      );
    }

    async function load() {
      fill(root, h("p", { class: "loading" }, "Reading the profiles …"));
      try {
        answer = await context.api.get("/api/profiles");
      } catch (error) {
        fill(root);
        context.fail(error);
        return;
      }
      if (!found(chosen.first)) chosen.first = answer.profiles[0].key;
      if (!found(chosen.second)) chosen.second = "";
      fill(root, h("p", { class: "hint" }, "0: what needs no rule. 1: the rule that made the items. The index is the mean of the dimensions and hides opposite profiles. Examine a model of your own with rote examine my_model.py:make; it is shown here then."), h("div", { class: "panel" }, all), h("div", { class: "panel" }, controls, two));
      drawAll();
      drawControls();
      await compare();
    }

    load();
    return {
      data() {
        const columns = ["profile", "parameters", "index", "dimension", "task", "score", "low", "high", "known", "new", "zero", "outcome"];
        const rows = (answer ? answer.profiles : []).flatMap((profile) => profile.tasks.map((row) => [
          profile.name, profile.parameters, profile.index && profile.index.value, ...["dimension", "task", "score", "low", "high", "known", "new", "zero", "outcome"].map((name) => row[name]),
        ]));
        return { columns, rows };
      },
      svg: () => drawn,
    };
  },
};
