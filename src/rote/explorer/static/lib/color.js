// Color scales on light and on dark paper. The hues are those of the figures: blue positive, orange negative.

const query = window.matchMedia("(prefers-color-scheme: dark)");

export function theme() {
  return query.matches ? "dark" : "light";
}

// Calls the function whenever light changes to dark or back; returns what ends that.
export function onTheme(action) {
  query.addEventListener("change", action);
  return () => query.removeEventListener("change", action);
}

const SEQUENTIAL = {
  light: ["#ffffff", "#d8e8f3", "#9cc6e3", "#4f99cb", "#1f6aa5", "#0e3f6b"],
  dark: ["#171b21", "#18324a", "#1d4f79", "#2a78b5", "#6fb1e2", "#cfe7fa"],
};
const NEGATIVE = {
  light: ["#ffffff", "#fde3cd", "#f9bd8b", "#ee8a3d", "#c25a07", "#7a3600"],
  dark: ["#171b21", "#3f2713", "#6f3c10", "#b85a10", "#f09a52", "#ffdfc4"],
};
const CATEGORY = {
  light: ["#8e2a96", "#16906d", "#94730f", "#222d38", "#2a78b5", "#d9660a", "#a3211b", "#5b646e"],
  dark: ["#d56bd9", "#6fe0b8", "#d8bc5e", "#8093a5", "#6fb1e2", "#f09a52", "#f59b94", "#c3c9ce"],
};
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

function rgb(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

// At t in 0..1 along the stops, as [red, green, blue].
function along(stops, t) {
  const at = Math.max(0, Math.min(1, Number.isFinite(t) ? t : 0)) * (stops.length - 1);
  const below = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [rgb(stops[below]), rgb(stops[below + 1])];
  return from.map((value, index) => Math.round(value + (to[index] - value) * (at - below)));
}

const css = ([red, green, blue]) => `rgb(${red}, ${green}, ${blue})`;

// 0: paper; 1: strongest.
export function sequential(t) {
  return css(along(SEQUENTIAL[theme()], t));
}

// -1: orange; 0: paper; 1: blue.
export function diverging(t) {
  return css(along((t < 0 ? NEGATIVE : SEQUENTIAL)[theme()], Math.abs(t)));
}

// For pictures drawn pixel by pixel: [red, green, blue] in 0..255.
export function sequentialRgb(t) {
  return along(SEQUENTIAL[theme()], t);
}

export function divergingRgb(t) {
  return along((t < 0 ? NEGATIVE : SEQUENTIAL)[theme()], Math.abs(t));
}

// Text on a color: dark or light ink, whichever stands out more.
export function inkOn(color) {
  const parts = color.startsWith("#") ? rgb(color) : color.match(/[\d.]+/g).slice(0, 3).map(Number);
  const linear = (value) => (value <= 10.31 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = parts.map(linear).reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  return luminance > 0.18 ? "#14181d" : "#ffffff";
}

// Series: a color, and a dash once the colors repeat.
export function category(index) {
  const colors = CATEGORY[theme()];
  return colors[index % colors.length];
}

export function dash(index) {
  return DASHES[Math.floor(index / CATEGORY.light.length) % DASHES.length];
}

export function positive() {
  return "#2a78b5";
}

export function negative() {
  return "#d9660a";
}
