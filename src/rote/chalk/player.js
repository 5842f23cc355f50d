// A computation graph that is stepped through: forward each tensor gets its value, backward its gradient.
const COLORS = { ink: "#111", edge: "#555", line: "#888", active: "#c25a07", now: "#ffd166", waiting: "#f4f4f4", leaf: "#e3eefb", result: "#fff4d6" };
const color = (name) => `var(--chalk-${name}, ${COLORS[name]})`; // a page with a dark side sets these

// player(steps) -> { element, svg(), go(step), state() }; steps as rote.chalk.steps gives them.
export function player(steps, { at = 0, moved = () => {} } = {}) {
  const [WIDE, HIGH, RIGHT, DOWN, MARGIN] = [150, 58, 200, 78, 12];
  const SVG = "http://www.w3.org/2000/svg";
  const { nodes, links, through, backward } = steps;
  const last = nodes.length + backward.length;
  const make = (tag, attributes, ...children) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const button = (label, title, action) => {
    const element = document.createElement("button");
    Object.assign(element, { type: "button", textContent: label, title, className: "quiet" });
    element.addEventListener("click", action);
    return element;
  };
  const x = (column) => MARGIN + RIGHT * column;
  const y = (row) => MARGIN + DOWN * row;
  const width = x(Math.max(...nodes.map((node) => node.column))) + WIDE + MARGIN;
  const height = y(Math.max(...nodes.map((node) => node.row), ...through.map(([, row]) => row))) + HIGH + MARGIN;

  const curve = ([from, row], [to, other]) => {
    const [a, b, c, d] = [x(from) + WIDE, y(row) + HIGH / 2, x(to), y(other) + HIGH / 2];
    return `M${a} ${b} C${(a + c) / 2} ${b} ${(a + c) / 2} ${d} ${c} ${d}`;
  };
  const lines = links.map(([from, to]) => make("path", { d: curve(from, to), fill: "none", stroke: color("line") }));
  const passing = through.map(([column, row]) => make("path", { d: `M${x(column)} ${y(row) + HIGH / 2} h${WIDE}`, fill: "none", stroke: color("line") }));
  const boxes = nodes.map((node) => {
    const rect = make("rect", { x: x(node.column), y: y(node.row), width: WIDE, height: HIGH, rx: 6, stroke: color("edge") });
    const texts = [0, 1, 2].map((line) => make("text", { x: x(node.column) + 8, y: y(node.row) + 17 + 17 * line, fill: color("ink"), "font-size": 12, "font-family": "sans-serif" }));
    texts[0].textContent = node.name;
    texts[0].setAttribute("font-weight", 600);
    return { rect, texts, group: make("g", {}, make("title", {}), rect, ...texts) };
  });
  const drawing = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Computation graph of ${nodes.length} tensors` }, ...passing, ...lines, ...boxes.map(({ group }) => group));
  const short = (text) => (text.length > 19 ? `${text.slice(0, 18)}…` : text);

  // What has been computed after so many steps: values of the first ones, gradients that have arrived so far.
  function state() {
    const gradients = new Map();
    backward.slice(0, Math.max(0, at - nodes.length)).forEach(({ node, gradient, given }) => {
      gradients.set(node, gradient);
      given.forEach(({ to, sum }) => gradients.set(to, sum));
    });
    const now = at === 0 ? null : at <= nodes.length ? at - 1 : backward[at - nodes.length - 1].node;
    return { values: Math.min(at, nodes.length), gradients, now };
  }

  function sentence() {
    if (at === 0) return "Nothing is computed yet. Step forward.";
    if (at <= nodes.length) {
      const node = nodes[at - 1];
      const of = node.parents.map((place) => `${nodes[place].name} = ${nodes[place].value}`).join(", ");
      return `Forward ${at} of ${nodes.length}: ${node.name}${of ? ` of ${of}` : ""} is ${node.value}.`;
    }
    const { node, gradient, given } = backward[at - nodes.length - 1];
    const told = given.map(({ to, gradient: part, sum }) => `${part} to ${nodes[to].name}${sum === part ? "" : ` (together ${sum})`}`).join(", ");
    return `Backward ${at - nodes.length} of ${backward.length}: the gradient of ${nodes[node].name} is ${gradient}${told ? `; it passes ${told}` : ""}.`;
  }

  function draw() {
    const { values, gradients, now } = state();
    boxes.forEach(({ rect, texts, group }, place) => {
      const there = place < values;
      rect.setAttribute("fill", color(place === now ? "now" : !there ? "waiting" : nodes[place].leaf ? "leaf" : "result"));
      rect.setAttribute("stroke-width", place === now ? 3 : 1);
      texts[1].textContent = there ? `value ${short(nodes[place].value)}` : "";
      texts[2].textContent = gradients.has(place) ? `grad ${short(gradients.get(place))}` : "";
      group.firstChild.textContent = `${nodes[place].name}${there ? `, value ${nodes[place].value}` : ""}${gradients.has(place) ? `, gradient ${gradients.get(place)}` : ""}`;
    });
    const ends = new Set(now === null ? [] : at <= nodes.length ? nodes[now].parents : backward[at - nodes.length - 1].given.map(({ to }) => to));
    lines.forEach((line, index) => {
      const [, [column, row], parent] = links[index];
      const active = ends.has(parent) && nodes[now].column === column && nodes[now].row === row;
      line.setAttribute("stroke", color(active ? "active" : "line"));
      line.setAttribute("stroke-width", active ? 3 : 1);
    });
    if (now !== null) { // what is computed stays in sight of a graph that is wider than its place
      scroll.scrollLeft = x(nodes[now].column) + WIDE / 2 - scroll.clientWidth / 2;
      scroll.scrollTop = y(nodes[now].row) + HIGH / 2 - scroll.clientHeight / 2;
    }
    said.textContent = sentence();
    slider.value = at;
    slider.setAttribute("aria-valuetext", sentence());
    element.dataset.step = at;
  }

  function go(to) {
    at = Math.max(0, Math.min(last, to));
    draw();
    moved(at);
  }

  let timer = 0;
  function play() {
    const playing = timer !== 0;
    clearInterval(timer);
    timer = 0;
    playButton.textContent = "Play";
    if (playing) return;
    if (at === last) go(0);
    playButton.textContent = "Pause";
    timer = setInterval(() => (at < last && element.isConnected ? go(at + 1) : play()), 800);
  }

  const said = document.createElement("p");
  said.setAttribute("role", "status");
  said.className = "chalk-said";
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: last, step: 1 });
  slider.setAttribute("aria-label", "Step");
  slider.addEventListener("input", () => go(Number(slider.value)));
  const playButton = button("Play", "Play forward, then backward", play);
  const controls = document.createElement("div");
  controls.className = "chalk-controls";
  controls.append(button("Back", "One step back", () => go(at - 1)), playButton, button("Step", "One step on", () => go(at + 1)), button("Forward pass", "All values", () => go(nodes.length)), button("Backward pass", "All gradients", () => go(last)), slider);
  const scroll = document.createElement("div");
  scroll.className = "chalk-graph";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", "Computation graph; arrow keys step");
  scroll.style.overflow = "auto";
  scroll.append(drawing);
  scroll.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    go(at + by);
  });
  const element = document.createElement("div");
  element.className = "chalk-player";
  element.append(controls, said, scroll);
  go(at);
  requestAnimationFrame(draw); // once it has a place on the page
  return { element, svg: () => drawing, go, state, stop: () => clearInterval(timer) };
}
