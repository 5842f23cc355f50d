// The recurrent playground in a file: it answers what the server would, by training in the page itself.
import { ApiError } from "../../lib/api.js";
import { CELLS, Network, randomFrom } from "./engine.js";

const BASE = "/api/recurrent";
const CHAINED = 64; // units of all states together whose Jacobians are multiplied at every frame
const [LONGEST, PAIRS, NONE] = [40, 200, -1];
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

// The same as the API of a file, with a session behind it.
export function localTraining(api) {
  let session = null;
  const begun = async () => (session ??= new Session(await api.post(`${BASE}/whole`, {}), await api.get(`${BASE}/tasks`)));
  const routes = {
    start: (body) => ({ restarted: session.change(body.settings), job: "file", ...session.seen(body.look) }),
    step(body) {
      session.advance(body.updates ?? 1);
      return { frame: session.frame(body.look) };
    },
    change: (body) => ({ restarted: session.change(body.settings), ...session.seen(body.look) }),
    reset(body) {
      session.restart();
      return session.seen(body.look);
    },
    pause(body) {
      session.playing += 1;
      return { frame: session.frame(body.look) };
    },
    script: (body) => ({ script: session.script(body.look?.network ?? 0) }),
  };
  return {
    ...api,
    async post(path, body) {
      const route = path.startsWith(`${BASE}/`) && routes[path.slice(BASE.length + 1)];
      if (!route) return api.post(path, body);
      await begun();
      return route(body);
    },
    async *stream(path, body) {
      await begun();
      const mine = (session.playing += 1);
      while (session.playing === mine) {
        const until = performance.now() + 30;
        for (let update = 0; update < body.updates && (update === 0 || performance.now() < until); update += 1) session.advance(1);
        yield session.frame(body.look, true);
        await new Promise((done) => setTimeout(done, 15));
      }
    },
  };
}

const numbers = (text) => new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const text = (bytes) => btoa(String.fromCharCode(...bytes));
const unpacked = (weights) => Object.fromEntries(Object.entries(weights).map(([name, { shape, ...arrays }]) => [name, { shape, ...Object.fromEntries(Object.entries(arrays).map(([key, value]) => [key, numbers(value)])) }]));

class Session {
  constructor(whole, tasks) {
    Object.assign(this, { whole, tasks, settings: whole.settings, version: whole.version, playing: 0 });
    this.task = this.made(whole.settings);
    if (CELLS[whole.settings.cell]) this.begin(whole.now, whole.step);
  }

  // As the file was written; at its start, or with other settings, from seeds of its own.
  begin(weights, step) {
    const { cell, units } = this.settings;
    this.networks = weights.map((kept) => new Network(cell, units, unpacked(kept)));
    this.step = step;
  }

  restart() {
    const { cell, units, seed, seeds } = this.settings;
    const { whole } = this;
    known(cell);
    if (sameNetworks(this.settings, whole.settings)) this.begin(whole.start, 0);
    else this.networks = Array.from({ length: seeds }, (_, place) => Network.drawn(cell, units, this.task.symbols.length, this.task.answers.length, seed + place));
    this.step = 0;
    this.version += 1;
  }

  change(settings) {
    const before = this.settings;
    const fresh = !sameNetworks(settings, before);
    known(settings.cell);
    if (fresh) this.task = this.made(settings); // what is wrong with it is told before anything is changed
    this.settings = { ...settings };
    if (fresh) this.restart();
    else this.version += 1;
    return fresh;
  }

  advance(updates) {
    known(this.settings.cell);
    const { known: items } = this.task;
    for (let update = 0; update < updates; update += 1) {
      this.networks.forEach((network, place) => {
        const rows = drawn(items.length, this.settings.batch, this.settings.seed + place, this.step);
        network.scores(...padded(rows.map((row) => items[row])), true);
        network.adam(this.settings.learning_rate, this.step + 1);
      });
      this.step += 1;
    }
  }

  seen(look) {
    return { frame: this.frame(look), task: this.facts() };
  }

  facts() {
    const { title, new_are, symbols, answers } = this.task;
    const shown = (items) => items.map(([tokens, targets]) => ({ symbols: tokens.map((token) => symbols[token]), asked: targets.map((target) => (target < 0 ? null : answers[target])) }));
    const cell = CELLS[this.settings.cell];
    const parameters = Object.values(this.networks[0].weights).reduce((sum, weight) => sum + weight.data.length, 0);
    return { title, new_are, symbols, answers, known: shown(this.task.known), new: shown(this.task.new), states: cell.states, gates: cell.gates, cells: Object.keys(CELLS), parameters };
  }

  frame(look, playing = false) {
    known(this.settings.cell);
    const [old, fresh] = [this.task.known, this.task.new].map((items) => this.networks.map((network) => (items.length ? network.scores(...padded(items), false) : null)));
    const share = (sums, key) => sums.map((sum) => (sum ? sum[key] / sum.asked : null));
    const loss = { known: share(old, "loss"), new: share(fresh, "loss") };
    return { step: this.step, version: this.version, train: loss.known, loss, accuracy: { known: share(old, "right"), new: share(fresh, "right") }, ...(look ? { inside: this.inside(look, playing) } : {}) };
  }

  inside(look, playing) {
    const items = [...this.task.known, ...this.task.new];
    const [place, item] = [Math.min(look.network, this.networks.length - 1), Math.min(look.item, items.length - 1)];
    const [tokens, targets] = items[item];
    const at = Math.min(look.at ?? targets.findLastIndex((target) => target >= 0), tokens.length - 1);
    const network = this.networks[place];
    const chained = !playing || network.units * network.cell.states.length <= CHAINED;
    const found = network.inside(tokens, at, targets[at] < 0 ? null : targets[at], chained);
    const { chances, target, terms, gradient, jacobians, products } = found;
    const states = network.cell.states.map((name, n) => series(name, network.units, found.states.map((state) => state[n].data)));
    const gates = network.cell.gates.map((name) => series(name, network.units, found.gates.map((named) => named[name].data)));
    return { network: place, item, at, target, units: network.units, states, gates, chances, gradient, terms, jacobians, products, error: null };
  }

  made(settings) {
    if (settings.task === "own") return own(settings.pairs);
    const { known: old, new: fresh, ...names } = this.tasks[settings.task][settings.length];
    const read = (rows) => rows.map(([tokens, targets]) => [[...tokens].map((digit) => DIGITS.indexOf(digit)), [...targets].map((digit) => DIGITS.indexOf(digit))]);
    return { ...names, known: read(old), new: read(fresh) };
  }

  // The same script as the server writes.
  script(place) {
    const [head, module, tail] = this.whole.templates;
    const { cell, units, seed } = this.settings;
    const network = this.networks[Math.min(place, this.networks.length - 1)];
    const packed = (data) => text(new Uint8Array(Float32Array.from(data).buffer));
    const named = (name) => (name.startsWith("readout") ? name : `recurrent.${name}_l0`);
    const weights = Object.fromEntries(Object.entries(network.weights).map(([name, { shape, data }]) => [named(name), [shape, packed(data)]]));
    const { title, symbols, answers, known: old, new: fresh } = this.task;
    const values = { title, cell, units, step: this.step, seed: seed + place, symbols, answers, items: JSON.stringify({ known: old, new: fresh }), file: "rote_network.py", weights: JSON.stringify(weights), module: this.whole.modules[cell] };
    const filled = (template) => template.replace(/\{\{|\}\}|\{(\w+)(!r)?\}/g, (all, name, quoted) => (name ? (quoted ? JSON.stringify(values[name]) : values[name]) : all[0]));
    return filled(head) + filled(module) + tail;
  }
}

function known(cell) {
  if (!CELLS[cell]) throw new ApiError(`In a file ${Object.keys(CELLS).join(", ")} train. The cell ${cell} needs the live explorer: run \`rote explore\` and open the view there.`, 0);
}

function sameNetworks(one, other) {
  return Object.keys(one).every((key) => key === "learning_rate" || (key === "pairs" && one.task !== "own") || one[key] === other[key]);
}

// Which items are learned from: all of them, or so many that are drawn.
function drawn(count, batch, seed, step) {
  const rows = [...Array(count).keys()];
  if (batch >= count) return rows;
  const random = randomFrom(seed, step);
  for (let place = 0; place < batch; place += 1) {
    const other = place + Math.floor(random() * (count - place));
    [rows[place], rows[other]] = [rows[other], rows[place]];
  }
  return rows.slice(0, batch);
}

function padded(items) {
  const most = Math.max(...items.map(([tokens]) => tokens.length));
  const filled = (row, value) => [...row, ...Array(most - row.length).fill(value)];
  return [items.map(([tokens]) => filled(tokens, 0)), items.map(([, targets]) => filled(targets, NONE))];
}

// [unit, step] as bytes: -largest to largest
function series(name, units, steps) {
  const largest = Math.max(1e-9, ...steps.map((data) => Math.max(...data.map(Math.abs))));
  const values = new Uint8Array(units * steps.length);
  steps.forEach((data, step) => data.forEach((value, unit) => (values[unit * steps.length + step] = Math.round((value / largest / 2 + 0.5) * 255))));
  return { name, units, largest, values: text(values) };
}

// Lines "input = answer", new ones behind a line of dashes; as sequence_tasks.own_pairs reads them.
function own(lines) {
  const rows = { known: [], new: [] };
  let kind = "known";
  const wrong = (message) => { throw new ApiError(message, 422); };
  const all = lines.split("\n").map((line) => line.trim()).filter(Boolean);
  if (all.length > PAIRS) wrong(`Own pairs take ${PAIRS} lines at most. Got ${all.length}: leave some out.`);
  all.forEach((line, index) => {
    if (/^-+$/.test(line)) return (kind = "new");
    const place = line.indexOf("=");
    const [left, right] = place < 0 ? [line, ""] : [line.slice(0, place).trim(), line.slice(place + 1).trim()];
    if (!left || !right) wrong(`Line ${index + 1} of the pairs must read 'input = answer', as '0 1 = 1'. Got '${line.slice(0, 40)}'.`);
    const [symbols, answers] = [left, right].map((part) => (left.includes(" ") ? part.split(/\s+/) : [...part]));
    if (symbols.length > LONGEST) wrong(`Line ${index + 1} of the pairs has ${symbols.length} symbols; ${LONGEST} are the most.`);
    const stepwise = symbols.length > 1 && answers.length === symbols.length;
    return rows[kind].push([symbols, stepwise ? answers : [...Array(symbols.length - 1).fill(null), right]]);
  });
  if (!rows.known.length) wrong("Own pairs need at least one line 'input = answer' before the line of dashes.");
  const every = [...rows.known, ...rows.new];
  const symbols = [...new Set(every.flatMap(([row]) => row))].sort();
  const answers = [...new Set(every.flatMap(([, row]) => row.filter((answer) => answer !== null)))].sort();
  const coded = (items) => items.map(([row, asked]) => [row.map((symbol) => symbols.indexOf(symbol)), asked.map((answer) => (answer === null ? NONE : answers.indexOf(answer)))]);
  return { title: "Own pairs", new_are: "the lines behind the dashes", symbols, answers, known: coded(rows.known), new: coded(rows.new) };
}
