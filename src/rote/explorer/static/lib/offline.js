// A saved view without a server: it gets the answers that it got then.
import { recordedApi } from "./api.js";
import { frame } from "./frame.js";
import { shelfFor } from "./models.js";
import { presentButtons, showPresented } from "./present.js";

export function replay(view, saved) {
  const announcer = document.getElementById("announcer");
  const api = recordedApi(saved.answers);
  let values = saved.values;
  const state = {
    get: () => ({ ...values }),
    set: (patch) => { values = { ...values, ...patch }; },
  };
  const models = () => shelfFor(api, values);
  const shown = frame(view, { api, state, announce: (text) => { announcer.textContent = text; }, models });
  showPresented(values);
  const origin = document.getElementById("origin");
  origin.textContent = `Saved on ${saved.when} UTC. What was not looked at then needs the live explorer.`;
  origin.after(presentButtons(() => state));
  document.getElementById("view").replaceChildren(shown.host);
  shown.mount();
}
