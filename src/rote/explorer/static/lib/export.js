// The export menu: what is shown, as a file or a link.
import { question } from "./api.js";
import { h } from "./dom.js";
import { bundle } from "./bundle.js";
import { picture } from "./picture.js";

const KINDS = [
  ["html", "Offline HTML", "One file that works without a server"],
  ["png", "PNG", "The picture, in twice the size"],
  ["svg", "SVG", "The picture, for print and editing"],
  ["json", "JSON", "What is shown, as data"],
  ["csv", "CSV", "The same as a table"],
  ["link", "Copy link", "Opens this view as it is"],
];

function save(name, content) {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function csv({ columns, rows }) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

async function png(text) {
  const { width, height } = size(text);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.ceil(2 * width), height: Math.ceil(2 * height) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function size(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return { width: parseFloat(root.getAttribute("width")), height: parseFloat(root.getAttribute("height")) };
}

async function made(kind, open) {
  const { shown, view, state, recording } = open;
  const name = `rote-${view.name}`;
  if (kind === "link") {
    await navigator.clipboard.writeText(location.href);
    return "Link copied.";
  }
  await recording.settled();
  if (kind === "html") {
    await shown.keep((path, body, answer) => recording.keep(question("POST", path, body), JSON.stringify(answer)));
    save(`${name}.html`, new Blob([await bundle(open, recording, state.get())], { type: "text/html" }));
    return `Saved ${name}.html.`;
  }
  if (kind === "json" || kind === "csv") {
    const data = shown.data();
    if (!data || !data.rows.length) throw new Error("There is nothing to save yet.");
    const content = kind === "csv" ? csv(data) : JSON.stringify({ view: view.name, link: location.hash, ...data }, null, 1);
    save(`${name}.${kind}`, new Blob([content], { type: kind === "csv" ? "text/csv" : "application/json" }));
    return `Saved ${name}.${kind}.`;
  }
  const drawn = shown.svg();
  if (!drawn) throw new Error("There is no picture to save yet.");
  const text = picture(drawn);
  save(`${name}.${kind}`, kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(text));
  return `Saved ${name}.${kind}.`;
}

// A button with a menu. opened(): the view that is open, with what it was told.
export function exportMenu(opened, announce) {
  const said = h("span", { class: "export-said", "aria-hidden": "true" });
  const button = h("button", { type: "button", class: "quiet", "aria-haspopup": "menu", "aria-expanded": "false" }, "Export");
  const items = KINDS.map(([kind, title, about]) => h(
    "button", { type: "button", role: "menuitem", tabindex: "-1", onclick: () => choose(kind) }, title, h("small", {}, about),
  ));
  const menu = h("div", { class: "export-menu", role: "menu", "aria-label": "Export this view", hidden: true }, items);

  function show(visible, focus = true) {
    menu.hidden = !visible;
    button.setAttribute("aria-expanded", String(visible));
    if (visible) items[0].focus();
    else if (focus) button.focus();
  }

  function tell(text) {
    announce(text);
    said.textContent = text;
    setTimeout(() => { if (said.textContent === text) said.textContent = ""; }, 4000);
  }

  async function choose(kind) {
    show(false);
    const open = opened();
    if (!open || !open.shown) return;
    try {
      if (open.recording.waiting.size && kind !== "link") tell("Waiting for the view …");
      tell(await made(kind, open));
    } catch (error) {
      open.shown.fail(error);
    }
  }

  button.addEventListener("click", () => show(menu.hidden));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    show(true);
  });
  menu.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: (at + 1) % items.length, ArrowUp: (at + items.length - 1) % items.length, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      items[to].focus();
    } else if (event.key === "Escape") show(false);
    else if (event.key === "Tab") show(false, false);
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.hidden && !menu.contains(event.target) && !button.contains(event.target)) show(false, false);
  });
  return h("div", { class: "export" }, said, button, menu);
}
