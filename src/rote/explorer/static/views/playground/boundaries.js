// What the networks do: the decision boundary of each, and the units and links of the one in focus.
import { fill, h, number, percent, svg } from "../../lib/dom.js";
import { drawNetwork, drawPanel, layout, probability } from "../../lib/plane.js";
import { ORDER, summary } from "../../lib/plane_settings.js";

const SIDE = 40; // points per side of a field
const UNIT_SIDE = 16; // and of a unit's
const NODE = 34; // pixels

// sample: the canvas of the data; seen(): the frame that is looked at; focusOn(place): another network is looked at.
export function boundariesOf(settings, open, sample, { seen, focusOn, unseen, word }) {
  const drawing = h("canvas", { class: "picture", role: "img", "aria-label": "Network" });
  const reading = h("p", { class: "reading" }, " ");
  const panels = h("div", { class: "panels", role: "group", "aria-label": "Networks, one for each seed" });
  let cards = [];

  function draw(frame) {
    const count = frame.train.length;
    if (cards.length !== count) {
      cards = Array.from({ length: count }, (_, place) => card(place));
      fill(panels, cards.map((item) => item.element));
      panels.style.setProperty("--across", String(Math.min(count, 2)));
      if (open.focus >= count) open.focus = count - 1;
      measured = null;
    }
    measure();
    cards.forEach((item, place) => drawCard(item, place, frame));
    drawPanel(sample, measured.sample, { field: null, side: SIDE, points: open.points[open.focus], shown: ORDER });
    drawFocus(frame);
  }

  function card(place) {
    const canvas = h("canvas", { role: "img" });
    const title = h("span", { class: "name" });
    const scores = h("span", { class: "scores" });
    const frameOf = h("button", { type: "button", class: "seed-card", onclick: () => focusOn(place) }, canvas, title, scores);
    canvas.addEventListener("pointermove", (event) => point(event, place, canvas));
    canvas.addEventListener("pointerleave", () => (reading.textContent = " "));
    return { canvas, title, scores, element: frameOf };
  }

  function point(event, place, canvas) {
    const box = canvas.getBoundingClientRect();
    const [right, up] = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    const index = (share) => Math.max(0, Math.min(SIDE - 1, Math.floor(share * SIDE)));
    const frame = seen();
    if (!frame) return;
    const value = probability(frame.field[place * SIDE * SIDE + index(right) * SIDE + index(up)]);
    reading.textContent = `Seed ${settings.seed + place}: at X1 = ${number(right * 2 - 1, 2)}, X2 = ${number(up * 2 - 1, 2)} the probability of class 1 is ${number(value, 2)}.`;
  }

  // Read once for each size of the page: to read it between two changes would lay the page out again each time.
  let measured = null;
  function measure() {
    measured ??= { card: cards[0]?.canvas.clientWidth || 150, sample: sample.clientWidth || 180, width: drawing.clientWidth || 400, height: drawing.clientHeight || 300 };
  }

  const fieldOf = (frame, place) => frame.field.subarray(place * SIDE * SIDE, (place + 1) * SIDE * SIDE);

  function drawCard(item, place, frame) {
    drawPanel(item.canvas, measured.card, { field: fieldOf(frame, place), side: SIDE, points: open.shown ? open.points[place] : null, shown: settings.combinations });
    const [inside, outside] = scoresOf(frame, place);
    const told = `${inside === null ? "" : `seen ${percent(inside, 0)}`}${outside === null ? "" : ` · ${word()} ${percent(outside, 0)}`}`;
    item.title.textContent = `seed ${settings.seed + place}`;
    item.scores.textContent = frame.train[place] === null ? "diverged" : told;
    item.canvas.setAttribute("aria-label", `Seed ${settings.seed + place} at step ${frame.step}: quadrants right, ${frame.train[place] === null ? "diverged" : told}`);
    item.element.setAttribute("aria-pressed", String(place === open.focus));
  }

  // Mean share right over the quadrants that training shows, and over the others; null where there are none.
  function scoresOf(frame, place) {
    const mean = (names) => (names.length ? summary(names.map((name) => frame.accuracy[place][ORDER.indexOf(name)]))[0] : null);
    return [mean(settings.combinations), mean(unseen())];
  }

  function drawFocus(frame) {
    if (!frame.network) {
      drawing.setAttribute("aria-label", "The network is drawn at the latest step only.");
      return;
    }
    const { network: shown } = frame;
    const whole = fieldOf(frame, shown.place);
    const at = (index) => Math.min(SIDE - 1, Math.floor(((index + 0.5) / UNIT_SIDE) * SIDE));
    shown.output = Uint8Array.from({ length: UNIT_SIDE ** 2 }, (_, index) => whole[at(Math.floor(index / UNIT_SIDE)) * SIDE + at(index % UNIT_SIDE)]);
    const { width, height } = measured;
    const counts = [2, ...shown.biases.map((bias) => bias.length)];
    open.nodes = layout(counts, width, height, NODE);
    drawNetwork(drawing, width, height, shown, open.nodes, UNIT_SIDE);
    drawing.setAttribute("aria-label", `Network of seed ${settings.seed + shown.place}: ${counts.join(", ")} units from inputs to classes; links as wide as their weights`);
  }

  drawing.addEventListener("pointermove", (event) => {
    const shown = seen()?.network;
    if (!shown || !open.nodes) return;
    const box = drawing.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    open.nodes.forEach((column, layer) => column.forEach((node, place) => {
      if (x < node.x - 2 || x > node.x + node.size + 2 || y < node.y - 2 || y > node.y + node.size + 2 || layer === 0) return;
      const from = shown.weights[layer - 1].map((row) => row[place]);
      const weights = from.map((weight) => number(weight, 2)).join(", ");
      const what = layer === open.nodes.length - 1 ? `Class ${place}` : `Layer ${layer}, unit ${place + 1}`;
      reading.textContent = `${what}: bias ${number(shown.biases[layer - 1][place], 2)}; weights ${weights}.`;
    }));
  });

  return {
    drawing, reading, panels, draw, scoresOf,
    resized: () => (measured = null),
    svg: (charts) => exported(cards, ...charts),
  };
}

// The panels as images, the curves below them.
function exported(cards, ...charts) {
  const [edge, gap] = [180, 16];
  const across = Math.min(4, Math.max(1, cards.length));
  const wide = Math.max(across * (edge + gap) + gap, ...charts.map((chart) => chart.viewBox.baseVal.width));
  let top = Math.ceil(cards.length / across) * (edge + 44) + gap;
  const parts = cards.map((item, index) => {
    const [x, y] = [gap + (index % across) * (edge + gap), gap + Math.floor(index / across) * (edge + 44)];
    const label = { x, "font-size": 12, fill: "var(--ink)", "font-family": "var(--sans)" };
    return svg("g", {}, svg("image", { x, y, width: edge, height: edge, href: item.canvas.toDataURL() }), svg("text", { ...label, y: y + edge + 16 }, `${item.title.textContent}: ${item.scores.textContent}`));
  });
  for (const chart of charts) {
    const copy = chart.cloneNode(true);
    copy.setAttribute("y", top);
    parts.push(copy);
    top += chart.viewBox.baseVal.height + gap;
  }
  return svg("svg", { width: wide, height: top, viewBox: `0 0 ${wide} ${top}`, role: "img", "aria-label": "Decision boundaries and curves over training" }, parts);
}
