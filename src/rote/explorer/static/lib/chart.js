// A small line chart in SVG: axes, legend, and values under the pointer or the arrow keys.
//
//   const chart = lineChart({
//     series: [{ name: "loss", points: [[0, 1.2], [10, 0.7]], band: [[0, 1.0, 1.4], ...], color?, dash? }],
//     x: { label: "step", log: false }, y: { label: "loss", log: false, from: 0, to: 1 }, height: 260,
//   });
//   root.append(chart.element); chart.update({ series }); chart.svg(); chart.destroy();
import { category, dash, onTheme } from "./color.js";
import { h, number, svg } from "./dom.js";

const MARGIN = { top: 10, right: 16, bottom: 38, left: 64 };
const SIZE = 11;

// Between whole numbers, as of steps and characters, there is nothing to tell: `least` is 1 there.
function ticks(low, high, wanted, least = 0) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) || 10));
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
  return found;
}

// As many figures as tell a tick from the next one.
function told(value, all) {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : Math.abs(value);
  return number(value, Math.min(9, Math.max(3, value && step ? Math.ceil(Math.log10(Math.abs(value) / step)) + 1 : 3)));
}

function logTicks(low, high) {
  const found = [];
  for (let at = Math.ceil(Math.log10(low) - 1e-9); at <= Math.log10(high) + 1e-9; at += 1) found.push(10 ** at);
  return found.length > 1 ? found : ticks(low, high, 4).filter((value) => value > 0);
}

// From values to pixels.
function scale(values, axis, from, to, wanted) {
  const usable = values.filter((value) => Number.isFinite(value) && (!axis.log || value > 0));
  let low = axis.from ?? (usable.length ? usable.reduce((a, b) => Math.min(a, b)) : 0);
  let high = axis.to ?? (usable.length ? usable.reduce((a, b) => Math.max(a, b)) : 1);
  if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  const place = axis.log ? Math.log : (value) => value;
  const span = place(high) - place(low);
  const at = (value) => from + ((place(value) - place(low)) / span) * (to - from);
  return { at, low, high, ticks: axis.log ? logTicks(low, high) : ticks(low, high, wanted, axis.whole ? 1 : 0) };
}

export function lineChart(options) {
  let settings = { x: {}, y: {}, height: 260, series: [], ...options };
  let width = 640;
  let cursor = null;
  let drawn = null;
  const plot = h("div", { class: "chart-plot", tabindex: "0", role: "group", "aria-roledescription": "chart" });
  const readout = h("p", { class: "chart-readout", "aria-live": "polite" });
  const legend = h("ul", { class: "chart-legend" });
  const element = h("div", { class: "chart" }, plot, readout, legend);

  const ends = [];
  const resized = new ResizeObserver(() => {
    const now = Math.round(plot.clientWidth);
    if (now && now !== width) {
      width = now;
      draw();
    }
  });
  resized.observe(plot);
  ends.push(() => resized.disconnect(), onTheme(() => draw()));

  function color(index) {
    return settings.series[index].color || category(index);
  }

  // Whether a point has a place: a logarithm knows neither zero nor less.
  const placed = ([x, y]) => Number.isFinite(y) && !(settings.y.log && y <= 0) && !(settings.x.log && x <= 0);

  function line(index) {
    const { points } = settings.series[index];
    let path = "";
    let pen = "M";
    for (const [x, y] of points) {
      if (!placed([x, y])) {
        pen = "M";
        continue;
      }
      path += `${pen}${drawn.x.at(x).toFixed(1)},${drawn.y.at(y).toFixed(1)}`;
      pen = "L";
    }
    const alone = points.filter(placed);
    if (alone.length === 1) {
      return svg("circle", { class: "chart-line", cx: drawn.x.at(alone[0][0]), cy: drawn.y.at(alone[0][1]), r: 3, fill: color(index) });
    }
    return svg("path", {
      class: "chart-line", d: path, fill: "none", stroke: color(index), "stroke-width": 1.75,
      "stroke-linejoin": "round", "stroke-dasharray": settings.series[index].dash ?? dash(index),
    });
  }

  function band(index) {
    const edge = settings.series[index].band;
    if (!edge || edge.length < 2) return null;
    const at = (x, y) => `${drawn.x.at(x).toFixed(1)},${drawn.y.at(y).toFixed(1)}`;
    const upper = edge.map(([x, , high]) => at(x, high));
    const lower = edge.map(([x, low]) => at(x, low)).reverse();
    return svg("path", { d: `M${upper.concat(lower).join("L")}Z`, fill: color(index), "fill-opacity": 0.15 });
  }

  function text(value, attributes) {
    return svg("text", { "font-size": SIZE, fill: "var(--muted)", "font-family": "var(--sans)", ...attributes }, value);
  }

  function axes() {
    const [right, bottom] = [width - MARGIN.right, settings.height - MARGIN.bottom];
    const made = [];
    const counted = drawn.xs.length > 0; // of nothing there are no numbers
    for (const value of counted ? drawn.y.ticks : []) {
      const y = drawn.y.at(value);
      made.push(svg("line", { x1: MARGIN.left, x2: right, y1: y, y2: y, stroke: "var(--line)" }));
      made.push(text(told(value, drawn.y.ticks), { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }));
    }
    for (const value of counted ? drawn.x.ticks : []) {
      const x = drawn.x.at(value);
      made.push(svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, stroke: "var(--muted)" }));
      made.push(text(told(value, drawn.x.ticks), { x, y: bottom + 16, "text-anchor": "middle" }));
    }
    made.push(svg("line", { x1: MARGIN.left, x2: right, y1: bottom, y2: bottom, stroke: "var(--muted)" }));
    made.push(text(settings.x.label || "", { x: (MARGIN.left + right) / 2, y: settings.height - 4, "text-anchor": "middle", fill: "var(--ink)" }));
    const middle = (MARGIN.top + bottom) / 2;
    made.push(text(settings.y.label || "", { x: 12, y: middle, "text-anchor": "middle", fill: "var(--ink)", transform: `rotate(-90 12 ${middle})` }));
    return made;
  }

  function draw() {
    const points = settings.series.flatMap((item) => item.points);
    const edges = settings.series.flatMap((item) => item.band || []);
    const tall = points.map((point) => point[1]).concat(edges.flatMap(([, low, high]) => [low, high]));
    drawn = {
      x: scale(points.map((point) => point[0]), { ...settings.x, whole: points.every((point) => Number.isInteger(point[0])) }, MARGIN.left, width - MARGIN.right, width / 90),
      y: scale(tall, settings.y, settings.height - MARGIN.bottom, MARGIN.top, settings.height / 55),
      xs: [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b),
    };
    const indices = settings.series.map((_, index) => index);
    drawn.svg = svg(
      "svg", { width, height: settings.height, viewBox: `0 0 ${width} ${settings.height}`, role: "img", "aria-label": summary() },
      axes(), indices.map(band), indices.map(line), svg("g", { class: "chart-cursor" }),
    );
    plot.replaceChildren(drawn.svg);
    legend.replaceChildren(...indices.map((index) => h("li", {}, swatch(index), settings.series[index].name)));
    legend.hidden = settings.series.length < 2 && !settings.legend;
    show(cursor);
  }

  // A copy with the names of the series below it, for a picture that stands alone.
  function withLegend() {
    const copy = drawn.svg.cloneNode(true);
    copy.querySelector(".chart-cursor").replaceChildren();
    const rows = settings.series.map((item, index) => svg("g", { transform: `translate(${MARGIN.left}, ${settings.height + 14 + 18 * index})` },
      svg("line", { x1: 0, x2: 20, y1: -4, y2: -4, stroke: color(index), "stroke-width": 2.5, "stroke-dasharray": item.dash ?? dash(index) }), text(item.name, { x: 28, fill: "var(--ink)" })));
    const height = settings.height + 18 * rows.length + 6;
    copy.append(...rows);
    copy.setAttribute("height", height);
    copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return copy;
  }

  function summary() {
    const names = settings.series.slice(0, 6).map((item) => item.name).join(", ");
    return `${settings.y.label || "value"} by ${settings.x.label || "position"}: ${names || "nothing yet"}`;
  }

  function swatch(index) {
    return svg("svg", { width: 22, height: 10, "aria-hidden": "true" }, svg("line", {
      x1: 1, x2: 21, y1: 5, y2: 5, stroke: color(index), "stroke-width": 2.5, "stroke-dasharray": settings.series[index].dash ?? dash(index),
    }));
  }

  // The values at the x nearest to where the reader points.
  function show(x) {
    cursor = x;
    const group = drawn.svg.querySelector(".chart-cursor");
    group.replaceChildren();
    if (x === null || !drawn.xs.length) {
      readout.textContent = settings.series.length ? "Point at the chart, or focus it and use the arrow keys, to read values." : "";
      return;
    }
    const at = drawn.x.at(x);
    group.append(svg("line", { x1: at, x2: at, y1: MARGIN.top, y2: settings.height - MARGIN.bottom, stroke: "var(--muted)", "stroke-dasharray": "2 3" }));
    const values = [];
    settings.series.forEach((item, index) => {
      const point = item.points.find((candidate) => candidate[0] === x);
      if (!point || !placed(point)) return;
      group.append(svg("circle", { cx: at, cy: drawn.y.at(point[1]), r: 3.5, fill: color(index), stroke: "var(--raised)", "stroke-width": 1.5 }));
      values.push(`${item.name} ${number(point[1])}`);
    });
    const shown = values.length > 8 ? [...values.slice(0, 8), `and ${values.length - 8} more`] : values;
    readout.textContent = `${settings.x.label || "x"} ${number(x)}: ${shown.join(" · ")}`;
  }

  function nearest(pixel) {
    let best = null;
    for (const x of drawn.xs) if (best === null || Math.abs(drawn.x.at(x) - pixel) < Math.abs(drawn.x.at(best) - pixel)) best = x;
    return best;
  }

  plot.addEventListener("pointermove", (event) => show(nearest(event.clientX - plot.getBoundingClientRect().left)));
  plot.addEventListener("pointerleave", () => show(null));
  plot.addEventListener("keydown", (event) => {
    const at = drawn.xs.indexOf(cursor);
    const last = drawn.xs.length - 1;
    const to = { ArrowLeft: at < 0 ? last : at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    show(drawn.xs[Math.max(0, Math.min(last, to))]);
  });
  draw();

  return {
    element,
    update(changes) {
      settings = { ...settings, ...changes };
      draw();
    },
    svg: () => (legend.hidden ? drawn.svg : withLegend()),
    destroy: () => ends.forEach((end) => end()),
  };
}
