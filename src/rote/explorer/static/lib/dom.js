// Building elements. Text always goes in as text, styles through the CSSOM: the page allows no inline style.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else if (name === "value" || name === "checked" || name === "indeterminate") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== undefined && child !== null && child !== false) element.append(child); // strings become text
  }
}

// h("button", { class: "quiet", onclick: go, "aria-pressed": "false" }, "Go")
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

// The same for SVG: svg("circle", { cx: 1, cy: 2, r: 3 })
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

// Replaces what an element holds.
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Calls the function once things have been quiet for some milliseconds; .cancel() forgets a call that waits.
export function debounce(action, milliseconds) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

// For requests where only the newest answer counts:
//   const ask = latest((signal, text) => context.api.post(path, { text }, { signal }));
//   const answer = await ask("abc");          // undefined when a later call overtook this one
export function latest(action) {
  let controller = null;
  const newest = async (...values) => {
    if (controller) controller.abort();
    const mine = (controller = new AbortController());
    try {
      const answer = await action(mine.signal, ...values);
      return mine === controller ? answer : undefined;
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  };
  newest.cancel = () => controller && controller.abort();
  return newest;
}

let numbered = 0;
// An id for labels: unique in the page.
export function uniqueId(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}

// A labelled control: field("Norm", h("select", ...)).
export function field(label, control, attributes) {
  if (!control.id) control.id = uniqueId("field");
  return h("div", { class: "field", ...attributes }, h("label", { for: control.id }, label), control);
}

// A select from [[value, title], ...].
export function select(options, chosen, onchange, attributes) {
  const made = options.map(([value, title]) => h("option", { value, selected: value === chosen }, title));
  return h("select", { ...attributes, onchange: (event) => onchange(event.target.value) }, made);
}

// 0.0123 -> "0.0123", 1234567 -> "1.23e+6": three figures, as the report shows numbers.
export function number(value, figures = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(figures - 1) : String(Number(value.toPrecision(figures)));
}

export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}%`;
}
