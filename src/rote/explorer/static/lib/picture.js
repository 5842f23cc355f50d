// An SVG that stands alone: colors and type of the page are written into it.
const MARGIN = 12; // around the picture, in pixels
const KEPT = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "letter-spacing", "white-space", "visibility",
];
const PLAIN = { "fill-opacity": "1", "stroke-opacity": "1", opacity: "1", "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", "font-style": "normal", "letter-spacing": "normal", "white-space": "normal", visibility: "visible", "dominant-baseline": "auto", "text-anchor": "start" };

function element(drawn) {
  if (typeof drawn !== "string") return drawn.cloneNode(true);
  return document.importNode(new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement, true);
}

// drawn: an element, in the page or not, or its text.
export function picture(drawn) {
  const made = element(drawn);
  const stage = document.createElement("div");
  stage.setAttribute("class", "stage");
  stage.append(made);
  document.body.append(stage); // styles are computed only in a page
  try {
    const box = made.getBoundingClientRect();
    for (const part of [made, ...made.querySelectorAll("*")]) settle(part);
    if (!made.getAttribute("width")) made.setAttribute("width", box.width || 800);
    if (!made.getAttribute("height")) made.setAttribute("height", box.height || 400);
    const [width, height] = ["width", "height"].map((name) => parseFloat(made.getAttribute(name)));
    if (!made.getAttribute("viewBox")) made.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const inside = made.getAttribute("viewBox").split(/[\s,]+/).map(Number);
    const scale = width / inside[2];
    const [left, top, wide, high] = [inside[0] - MARGIN / scale, inside[1] - MARGIN / scale, inside[2] + (2 * MARGIN) / scale, inside[3] + (2 * MARGIN) / scale];
    made.setAttribute("viewBox", [left, top, wide, high].join(" "));
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x: left, y: top, width: wide, height: high, fill: getComputedStyle(document.documentElement).getPropertyValue("--raised").trim() || "#ffffff" })) paper.setAttribute(name, value);
    made.prepend(paper);
    made.setAttribute("width", width + 2 * MARGIN);
    made.setAttribute("height", height + 2 * MARGIN);
    made.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return new XMLSerializer().serializeToString(made);
  } finally {
    stage.remove();
  }
}

function settle(part) {
  if (!(part instanceof SVGElement) || part.tagName === "title") return;
  const style = getComputedStyle(part);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    if (value && value !== PLAIN[name]) part.setAttribute(name, value);
    else if (value) part.removeAttribute(name);
  }
  for (const name of ["class", "style", "tabindex"]) part.removeAttribute(name);
}
