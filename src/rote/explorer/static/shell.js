// The page: navigation over the views, one of them open, its state in the address.
import { ApiError, Recording, liveApi } from "./lib/api.js";
import { carried } from "./lib/carried.js";
import { fill, h } from "./lib/dom.js";
import { exportMenu } from "./lib/export.js";
import { frame } from "./lib/frame.js";
import { shelfFor } from "./lib/models.js";
import { presentButtons, showPresented } from "./lib/present.js";
import { link, linked, parse } from "./lib/state.js";
import { enter, remember } from "./lib/token.js";

const main = document.getElementById("view");
const navigation = document.getElementById("views");
const tools = document.getElementById("tools");
const announcer = document.getElementById("announcer");

let session = null;
let open = null;

function announce(text) {
  announcer.textContent = "";
  requestAnimationFrame(() => (announcer.textContent = text));
}

// The shelf, asked for once while a view is open; a failed try is not kept.
async function models(opening, api) {
  opening.asked ??= shelfFor(api, opening.state.get());
  try {
    return await opening.asked;
  } catch (error) {
    opening.asked = null;
    throw error;
  }
}

function navigate() {
  const { name, values } = parse(location.hash);
  showPresented(values);
  const chosen = session.views.find((view) => view.name === name);
  if (!chosen) {
    history.replaceState(null, "", link(session.views[0].name, {}));
    navigate();
    return;
  }
  show(chosen).catch((error) => {
    fill(main, h("p", { class: "banner", role: "alert" }, `The view ${chosen.title} could not be opened: ${error.message}`));
    throw error;
  });
}

async function show(chosen) {
  close();
  const opening = (open = { view: chosen });
  mark(chosen);
  fill(main, h("p", { class: "loading" }, `Opening ${chosen.title} …`));
  await style(`/static/views/${chosen.name}.css`);
  const { view } = await import(`./views/${chosen.name}.js`);
  if (open !== opening) return;
  const recording = new Recording();
  const api = liveApi(recording);
  const state = linked(chosen.name, (address) => lead(chosen.name, address));
  const shown = frame({ ...view, about: chosen.about }, { api, state, announce, models: () => models(opening, api) });
  Object.assign(opening, { shown, recording, state });
  fill(main, shown.host);
  document.title = `${chosen.title} · Rote explorer`;
  shown.mount();
}

function close() {
  if (open && open.shown) open.shown.unmount();
  open = null;
}

function tab(name) {
  return navigation.querySelector(`a[data-view="${name}"]`);
}

// Its tab leads back to what was there; those of the other views on texts take text and model along.
function lead(name, address) {
  tab(name).setAttribute("href", address);
  for (const { name: other } of session.views) {
    const values = carried(name, parse(address).values, other, tab(other).getAttribute("href"));
    if (values) tab(other).setAttribute("href", link(other, values));
  }
}

function mark(chosen) {
  for (const item of navigation.querySelectorAll("a")) {
    const current = item.dataset.view === chosen.name;
    if (current) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
    if (current) item.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function style(href) {
  if (document.querySelector(`link[href="${href}"]`)) return null;
  return new Promise((resolve) => {
    document.head.append(h("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve }));
  });
}

async function start() {
  enter();
  try {
    session = await liveApi(new Recording()).get("/api/session");
    remember();
  } catch (error) {
    fill(main, h("p", { class: "banner", role: "alert" }, error.message));
    if (!(error instanceof ApiError)) throw error;
    return;
  }
  fill(navigation, h("ul", {}, session.views.map((view) => h("li", {}, h("a", { href: link(view.name, {}), "data-view": view.name, title: view.about }, view.title)))));
  fill(tools, presentButtons(() => open?.state), exportMenu(() => open, announce));
  window.addEventListener("hashchange", navigate);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address belongs to the view
    main.focus();
  });
  navigate();
}

start();
