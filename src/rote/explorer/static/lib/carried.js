// The views on texts lead to one another: the text and the model that one of them shows go along.
import { parse } from "./state.js";

const VIEWS = { connectivity: "models", autocomplete: "model", decomposition: "model" }; // and what each calls its models
const WEIGHTLESS = "article:"; // stored results, which only connectivity shows

// The values of another view of these, when the view `from` has the values `now`; null: nothing goes along.
export function carried(from, now, to, address) {
  if (!(from in VIEWS) || !(to in VIEWS) || from === to || now.text === undefined) return null;
  const before = parse(address).values;
  const [mine, theirs] = [VIEWS[from], VIEWS[to]];
  const models = (now[mine] || "").split(",").filter((name) => name && !name.startsWith(WEIGHTLESS));
  const known = (before[theirs] || "").split(",").filter(Boolean);
  const kept = models.length === 0 || known.includes(models[0]) ? known : theirs === "model" ? models.slice(0, 1) : mine === "model" ? [models[0], ...known] : models;
  const same = before.text === now.text && kept.join() === known.join();
  return same ? null : { text: now.text, [theirs]: kept.join(",") }; // places and phrases are those of another text
}
