// Every stored run.
import { fill, h } from "../lib/dom.js";

export const view = {
  name: "runs",
  title: "Runs",
  mount(root, context) {
    let rows = [];
    fill(root, h("p", { class: "loading" }, "Reading the store …"));
    context.api.get("/api/runs").then((answer) => {
      rows = answer.runs;
      fill(root, h("p", {}, `${rows.length} runs in ${answer.store}.`));
    }, context.fail);
    return { unmount() {}, data: () => ({ columns: ["run", "study", "status"], rows: rows.map((row) => [row.id, row.study, row.status]) }) };
  },
};
