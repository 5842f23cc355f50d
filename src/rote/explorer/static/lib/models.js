// Models by key: the shelf, and how a model is named in an address.
import { ApiError } from "./api.js";

const STORED = "article:"; // networks of which only stored results are known: the view that shows these lists them itself

// "gru@1200": a model at a step of its training.
export function parseModel(text) {
  const at = text.lastIndexOf("@");
  const step = at > 0 ? Number(text.slice(at + 1)) : NaN;
  return Number.isInteger(step) ? { key: text.slice(0, at), checkpoint: step } : { key: text, checkpoint: null };
}

export function modelName({ key, checkpoint }) {
  return checkpoint === null ? key : `${key}@${checkpoint}`;
}

export function titleOf(chosen, shelf) {
  const found = shelf.find((model) => model.key === chosen.key);
  const title = found ? found.title : chosen.key;
  return chosen.checkpoint === null ? title : `${title}, step ${chosen.checkpoint}`;
}

// What one step of the model reads: "character" or "word"; undefined where it is not on the shelf.
export function unitOf(shelf, chosen) {
  return shelf.find((model) => chosen && model.key === chosen.key)?.unit;
}

// The shelf, and behind it those that the state of a view names and the shelf does not list.
export async function shelfFor(api, { models = "", model = "" }) {
  const shelf = (await api.get("/api/models")).models;
  const named = [...models.split(","), model].filter(Boolean).map((name) => parseModel(name).key).filter((key) => !key.startsWith(STORED));
  const missing = [...new Set(named)].filter((key) => !shelf.some((known) => known.key === key));
  const found = await Promise.all(missing.map((key) => api.get(`/api/models/${encodeURIComponent(key)}`).catch(unknown)));
  return [...shelf, ...found.filter(Boolean)];
}

// The view says itself that a model is not here.
function unknown(error) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}

const TOLD = { steps: "steps", batch: "texts a step", parameters: "parameters", recurrent: "recurrent parameters" };
const NEAR = 1.01; // times as many parameters, at most, are as many: cells rarely have sizes in common

// Whether some models of the shelf were trained alike, in a sentence; empty where that is not known of two of them.
export function trainedAlike(shelf, chosen) {
  const found = [...new Set(chosen.map(({ key }) => key))].map((key) => shelf.find((model) => model.key === key)).filter((model) => model && model.trained);
  if (found.length < 2) return "";
  const all = found.map(({ title, trained }) => ({ title, facts: { ...trained.settings, ...trained } }));
  const valuesOf = (name) => [...new Set(all.map(({ facts }) => facts[name]))];
  const told = (name) => {
    const values = valuesOf(name);
    const titles = (value) => (values.length > 1 ? ` (${all.filter(({ facts }) => facts[name] === value).map(({ title }) => title).join(", ")})` : "");
    const list = values.map((value) => `${(value ?? "none").toLocaleString("en-US")}${titles(value)}`).join(", ");
    return TOLD[name] ? `${list} ${TOLD[name]}` : `${name} ${list}`;
  };
  const settings = [...new Set(found.flatMap(({ trained }) => Object.keys(trained.settings)))];
  const apart = settings.filter((name) => valuesOf(name).length > 1);
  const sizes = valuesOf("parameters");
  if (Math.max(...sizes) > NEAR * Math.min(...sizes)) apart.push("parameters");
  if (apart.length) return `Not trained alike: ${apart.map(told).join("; ")}. What tells them apart may come from that.`;
  return `Trained alike: ${["steps", "batch", "parameters", "recurrent"].map(told).join("; ")}.`;
}
