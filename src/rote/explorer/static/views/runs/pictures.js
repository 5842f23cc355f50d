// What a network that reads pictures says of some of them, beside what is right.
import { answering } from "../../lib/answering.js";
import { fill, h, select } from "../../lib/dom.js";
import { bytes } from "../../lib/plane.js";

function drawn({ picture, height, width, right }) {
  const canvas = h("canvas", { width, height, role: "img", "aria-label": `A picture of ${right.replace(/ ?\.$/, "")}` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  bytes(picture).forEach((value, place) => image.data.set([255 - value, 255 - value, 255 - value, 255], 4 * place));
  context.putImageData(image, 0, 0);
  return canvas;
}

function item(described) {
  const { said, right } = described;
  const words = said === right ? [h("span", { class: "right" }, `✓ ${said}`)] : [h("s", { class: "wrong" }, said || "nothing"), h("span", { class: "quiet-text" }, `right: ${right}`)];
  return h("li", {}, drawn(described), words);
}

export function pictures(run, api) {
  const list = h("div", {});
  const current = answering(list, (signal, network) => api.post("/api/runs/described", { run: run.id, network }, { signal }), () => fill(list));
  async function show(network) {
    try {
      const got = await current.ask(network);
      if (!got) return;
      const parts = [...new Set(got.answer.map((one) => one.part))];
      fill(list, parts.map((part) => {
        const found = got.answer.filter((one) => one.part === part);
        const right = found.filter((one) => one.said === one.right).length;
        return [h("p", { class: "hint" }, `Of ${part}: ${right} of these ${found.length} right`), h("ul", { class: "described" }, found.map(item))];
      }));
    } catch (error) {
      if (error.name !== "AbortError") fill(list, h("p", { class: "problem" }, error.message));
    }
  }
  show(0);
  const choice = select(run.describing.map((title, index) => [String(index), title]), "0", (index) => show(Number(index)), { "aria-label": `Network of ${run.study} ${run.part} ${run.label}` });
  return [choice, current.waiting, list];
}
