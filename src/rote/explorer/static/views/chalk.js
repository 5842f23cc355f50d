// Chalk: the computation graph of an example, forward and backward, one step at a time.
import { field, fill, h, latest } from "../lib/dom.js";
import { player } from "../lib/graph_player.js";

export const view = {
  name: "chalk",
  title: "Chalk",
  mount(root, context) {
    const link = context.state.get();
    const choice = h("select", { onchange: (event) => open(event.target.value, 0) });
    const stage = h("div", { class: "stage-of-graph" });
    const ask = latest((signal, example) => context.api.post("/api/chalk", { example }, { signal }));
    let shown = null;

    async function open(example, at) {
      context.clear();
      try {
        const answer = await ask(example);
        if (!answer) return;
        shown?.stop();
        fill(choice, Object.entries(answer.examples).map(([name, title]) => h("option", { value: name, selected: name === example }, title)));
        shown = { ...player(answer.steps, { at, moved: (step) => context.state.set({ example, at: step || "" }) }), steps: answer.steps };
        fill(stage, shown.element);
      } catch (error) {
        if (error.status === 404 && example !== "square") await open("square", 0); // a list to choose from beside the message
        context.fail(error);
      }
    }

    fill(root,
      h("p", { class: "lead-in" }, "Every box is a tensor, every line what it was computed from. Forward each gets its value; backward the chain rule passes the gradient from the loss to everything it depends on, and what arrives on several ways is added."),
      h("div", { class: "controls" }, field("Example", choice)), stage,
      h("p", { class: "hint" }, "The same for a graph of your own: rote.chalk.show(loss) in a notebook, or show(loss).save(\"graph.html\")."));
    open(link.example || "square", Number(link.at) || 0);
    return {
      unmount: () => shown?.stop(),
      svg: () => shown?.svg(),
      data: () => shown && { columns: ["tensor", "parents", "value", "gradient"], rows: shown.steps.nodes.map((node, place) => [node.name, node.parents.map((parent) => shown.steps.nodes[parent].name).join(" "), node.value, shown.steps.backward.find((step) => step.node === place)?.gradient ?? ""]) },
    };
  },
};
