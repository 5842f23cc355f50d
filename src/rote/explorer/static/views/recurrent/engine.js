// Training without a server: a small engine of derivatives, the cells of the lecture, and Adam. Arrays of numbers are
// [rows, columns]; the weights have the names, the order and the start of torch's.

const made = (rows, columns, data) => ({ rows, columns, data: data ?? new Float64Array(rows * columns), grad: null });
const gradient = (value) => (value.grad ??= new Float64Array(value.data.length));

// What was computed, in order: back() goes through it from the end. Weights that are held get no gradient.
export class Tape {
  constructor() {
    this.steps = [];
  }

  keep(value, back) {
    this.steps.push([value, back]);
    return value;
  }

  back() {
    for (let place = this.steps.length - 1; place >= 0; place -= 1) {
      const [value, back] = this.steps[place];
      if (value.grad) back(value.grad);
    }
  }

  // x @ w.T
  linear(x, w) {
    const [rows, inner, columns] = [x.rows, x.columns, w.rows];
    const out = made(rows, columns);
    const [given, weights, found] = [x.data, w.data, out.data];
    for (let r = 0; r < rows; r += 1) {
      for (let c = 0; c < columns; c += 1) {
        let sum = 0;
        for (let k = 0, a = r * inner, b = c * inner; k < inner; k += 1) sum += given[a + k] * weights[b + k];
        found[r * columns + c] = sum;
      }
    }
    return this.keep(out, (grad) => {
      const [dx, dw] = [gradient(x), w.held ? null : gradient(w)];
      for (let r = 0; r < rows; r += 1) {
        for (let c = 0; c < columns; c += 1) {
          const g = grad[r * columns + c];
          if (g === 0) continue;
          for (let k = 0, a = r * inner, b = c * inner; k < inner; k += 1) dx[a + k] += g * weights[b + k];
          if (dw) for (let k = 0, a = r * inner, b = c * inner; k < inner; k += 1) dw[b + k] += g * given[a + k];
        }
      }
    });
  }

  // linear() of unit vectors: a column of the weights for each symbol
  column(tokens, w) {
    const out = made(tokens.length, w.rows);
    tokens.forEach((token, r) => {
      for (let c = 0; c < w.rows; c += 1) out.data[r * w.rows + c] = w.data[c * w.columns + token];
    });
    return this.keep(out, (grad) => {
      if (w.held) return;
      const dw = gradient(w);
      tokens.forEach((token, r) => {
        for (let c = 0; c < w.rows; c += 1) dw[c * w.columns + token] += grad[r * w.rows + c];
      });
    });
  }

  // a + b, where b may be one row for all
  add(a, b) {
    const out = made(a.rows, a.columns);
    const size = b.data.length;
    const [first, second, found] = [a.data, b.data, out.data];
    for (let r = 0; r < found.length; r += size) for (let i = 0; i < size; i += 1) found[r + i] = first[r + i] + second[i];
    return this.keep(out, (grad) => {
      const [da, db] = [gradient(a), b.held ? null : gradient(b)];
      for (let r = 0; r < grad.length; r += size) {
        for (let i = 0; i < size; i += 1) {
          da[r + i] += grad[r + i];
          if (db) db[i] += grad[r + i];
        }
      }
    });
  }

  multiply(a, b) {
    const out = made(a.rows, a.columns, a.data.map((value, i) => value * b.data[i]));
    return this.keep(out, (grad) => {
      const [da, db] = [gradient(a), gradient(b)];
      for (let i = 0; i < grad.length; i += 1) {
        da[i] += grad[i] * b.data[i];
        db[i] += grad[i] * a.data[i];
      }
    });
  }

  // slope: of the function, from its result
  apply(x, of, slope) {
    const out = made(x.rows, x.columns, x.data.map(of));
    return this.keep(out, (grad) => {
      const dx = gradient(x);
      for (let i = 0; i < grad.length; i += 1) dx[i] += grad[i] * slope(out.data[i]);
    });
  }

  sigmoid(x) { return this.apply(x, (v) => 1 / (1 + Math.exp(-v)), (y) => y * (1 - y)); }

  tanh(x) { return this.apply(x, Math.tanh, (y) => 1 - y * y); }

  rest(x) { return this.apply(x, (v) => 1 - v, () => -1); }

  same(x) { return this.apply(x, (v) => v, () => 1); }

  // so many columns of x, from the n-th such piece on
  piece(x, n, size) {
    const out = made(x.rows, size);
    for (let r = 0; r < x.rows; r += 1) out.data.set(x.data.subarray(r * x.columns + n * size, r * x.columns + (n + 1) * size), r * size);
    return this.keep(out, (grad) => {
      const dx = gradient(x);
      for (let r = 0; r < x.rows; r += 1) for (let c = 0; c < size; c += 1) dx[r * x.columns + n * size + c] += grad[r * size + c];
    });
  }
}

// A step: from the projected input, the state and the weights to the next state and the gates by name.
export const CELLS = {
  elman: {
    groups: 1, states: ["hidden"], gates: ["candidate"],
    step(t, projected, [h], w) {
      const candidate = t.tanh(t.add(t.add(t.add(projected, w.bias_ih), t.linear(h, w.weight_hh)), w.bias_hh));
      return [[candidate], { candidate }];
    },
  },
  gru: {
    groups: 3, states: ["hidden"], gates: ["reset", "update", "candidate"],
    step(t, projected, [h], w) {
      const size = h.columns;
      const [a, b] = [t.add(projected, w.bias_ih), t.add(t.linear(h, w.weight_hh), w.bias_hh)];
      const [reset, update] = [0, 1].map((n) => t.sigmoid(t.add(t.piece(a, n, size), t.piece(b, n, size))));
      const candidate = t.tanh(t.add(t.piece(a, 2, size), t.multiply(reset, t.piece(b, 2, size))));
      return [[t.add(t.multiply(t.rest(update), candidate), t.multiply(update, h))], { reset, update, candidate }];
    },
  },
  lstm: {
    groups: 4, states: ["hidden", "cell"], gates: ["forget", "input", "candidate", "output"],
    step(t, projected, [h, c], w) {
      const size = h.columns;
      const all = t.add(t.add(t.add(projected, w.bias_ih), t.linear(h, w.weight_hh)), w.bias_hh);
      const [input, forget, output] = [0, 1, 3].map((n) => t.sigmoid(t.piece(all, n, size)));
      const candidate = t.tanh(t.piece(all, 2, size));
      const cell = t.add(t.multiply(forget, c), t.multiply(input, candidate));
      return [[t.multiply(output, t.tanh(cell)), cell], { forget, input, candidate, output }];
    },
  },
};

// The same numbers for the same seeds (mulberry32).
export function randomFrom(...seeds) {
  let state = seeds.reduce((sum, seed) => Math.imul(sum ^ (seed + 0x9e3779b9), 0x85ebca6b) ^ (sum >>> 13), 0x6d2b79f5);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export class Network {
  // weights: { name: { shape, values, first, second } }, with Adam's two means if it has learned
  constructor(cell, units, weights) {
    Object.assign(this, { cell: CELLS[cell], units, weights: {}, means: {} });
    for (const [name, { shape, values, first, second }] of Object.entries(weights)) {
      const value = made(shape.length > 1 ? shape[0] : 1, shape.at(-1), Float64Array.from(values));
      this.weights[name] = Object.assign(value, { shape });
      this.means[name] = [first, second].map((mean) => (mean ? Float64Array.from(mean) : new Float64Array(values.length)));
    }
  }

  static drawn(cell, units, symbols, answers, seed) {
    const random = randomFrom(seed, units);
    const limit = 1 / Math.sqrt(units);
    const rows = CELLS[cell].groups * units;
    const shapes = { weight_ih: [rows, symbols], weight_hh: [rows, units], bias_ih: [rows], bias_hh: [rows], "readout.weight": [answers, units], "readout.bias": [answers] };
    return new Network(cell, units, Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape, values: Float64Array.from({ length: shape.reduce((a, b) => a * b) }, () => (2 * random() - 1) * limit) }])));
  }

  start(rows) {
    return this.cell.states.map(() => made(rows, this.units));
  }

  step(t, tokens, state, weights = this.weights) {
    return this.cell.step(t, t.column(tokens, weights.weight_ih), state, weights);
  }

  // Sum of the losses, right answers and answers asked for of rows of tokens, all of one length; with their gradient.
  scores(tokens, targets, learn) {
    const t = new Tape();
    let state = this.start(tokens.length);
    const sum = { loss: 0, right: 0, asked: 0 };
    const pending = [];
    for (let at = 0; at < tokens[0].length; at += 1) {
      [state] = this.step(t, tokens.map((row) => row[at]), state);
      const asked = targets.map((row) => row[at]);
      if (!asked.some((answer) => answer >= 0)) continue;
      const logits = this.readout(t, state[0]);
      pending.push([logits, this.judged(logits, asked, sum)]);
    }
    if (learn) {
      for (const [logits, grad] of pending) logits.grad = grad.map((value) => value / sum.asked);
      t.back();
    }
    return sum;
  }

  readout(t, hidden, weights = this.weights) {
    return t.add(t.linear(hidden, weights["readout.weight"]), weights["readout.bias"]);
  }

  // d (sum of cross entropies) / d logits; what was lost and what was right is added up.
  judged({ rows, columns, data }, answers, sum) {
    const grad = new Float64Array(data.length);
    for (let r = 0; r < rows; r += 1) {
      if (answers[r] < 0) continue;
      const chances = softmax(data.subarray(r * columns, (r + 1) * columns));
      sum.loss -= Math.log(Math.max(chances[answers[r]], 1e-300));
      sum.asked += 1;
      sum.right += chances.indexOf(Math.max(...chances)) === answers[r];
      grad.set(chances, r * columns);
      grad[r * columns + answers[r]] -= 1;
    }
    return grad;
  }

  adam(rate, step) {
    for (const [name, weight] of Object.entries(this.weights)) {
      if (!weight.grad) continue;
      const [first, second] = this.means[name];
      const [by, spread] = [1 - 0.9 ** step, 1 - 0.999 ** step];
      for (let i = 0; i < weight.data.length; i += 1) {
        const g = weight.grad[i];
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.999 * second[i] + 0.001 * g * g;
        weight.data[i] -= (rate * first[i]) / by / (Math.sqrt(second[i] / spread) + 1e-8);
      }
      weight.grad = null;
    }
  }

  // One row: states, gates and chances at every step; how the loss at a step reaches back.
  inside(tokens, at, target, chained) {
    const t = new Tape();
    const copies = tokens.map(() => Object.fromEntries(Object.entries(this.weights).map(([name, weight]) => [name, { ...weight, grad: null }])));
    const [states, gates, chances] = [[], [], []];
    let state = this.start(1);
    let logits = null;
    tokens.forEach((token, step) => {
      const [next, named] = this.step(t, [token], state, copies[step]);
      state = next.map((value) => t.same(value)); // of its own: the derivative of a state while the others are held
      states.push(state);
      gates.push(named);
      const said = this.readout(t, state[0], copies[step]);
      if (step === at) logits = said;
      chances.push([...softmax(said.data)]);
    });
    const answer = target ?? chances[at].indexOf(Math.max(...chances[at]));
    logits.grad = this.judged(logits, [answer], { loss: 0, right: 0, asked: 0 });
    t.back();
    const steps = [...Array(at + 1).keys()];
    const terms = Object.fromEntries(Object.keys(this.weights).filter((name) => !name.startsWith("readout")).map((name) => [name, steps.map((step) => length(copies[step][name].grad))]));
    return { states, gates, chances, target: answer, terms, gradient: steps.map((step) => Math.hypot(...states[step].map((value) => length(value.grad)))), ...(chained ? this.chain(tokens, states, at) : { jacobians: null, products: null }) };
  }

  // Spectral norms of d state_s / d state_(s - 1), and of d state_at / d state_s.
  chain(tokens, states, at) {
    const size = this.units * this.cell.states.length;
    const held = Object.fromEntries(Object.entries(this.weights).map(([name, weight]) => [name, { ...weight, held: true }]));
    const one = (step) => {
      const t = new Tape();
      const before = this.cell.states.map((_, n) => {
        const value = made(size, this.units);
        if (step) for (let r = 0; r < size; r += 1) value.data.set(states[step - 1][n].data, r * this.units);
        return value;
      });
      const [after] = this.step(t, Array(size).fill(tokens[step]), before, held);
      const ends = after.map((value) => t.same(value));
      ends.forEach((value, n) => {
        const grad = gradient(value);
        for (let r = 0; r < this.units; r += 1) grad[(n * this.units + r) * this.units + r] = 1;
      });
      t.back();
      const matrix = new Float64Array(size * size);
      before.forEach((value, n) => {
        for (let r = 0; r < size; r += 1) matrix.set(gradient(value).subarray(r * this.units, (r + 1) * this.units), r * size + n * this.units);
      });
      return matrix;
    };
    const [jacobians, products] = [Array(at + 1), Array(at + 1)];
    let product = new Float64Array(size * size);
    for (let r = 0; r < size; r += 1) product[r * size + r] = 1;
    for (let step = at; step >= 0; step -= 1) {
      products[step] = spectral(product, size);
      const matrix = one(step);
      jacobians[step] = spectral(matrix, size);
      product = times(product, matrix, size);
    }
    return { jacobians, products };
  }
}

export const length = (values) => (values ? Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) : 0);

function softmax(logits) {
  const most = Math.max(...logits);
  const parts = Float64Array.from(logits, (value) => Math.exp(value - most));
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((value) => value / sum);
}

function times(a, b, size) {
  const out = new Float64Array(size * size);
  for (let r = 0; r < size; r += 1) {
    for (let k = 0; k < size; k += 1) {
      const factor = a[r * size + k];
      if (factor !== 0) for (let c = 0; c < size; c += 1) out[r * size + c] += factor * b[k * size + c];
    }
  }
  return out;
}

// The largest singular value, by going there and back until it no longer grows.
function spectral(matrix, size) {
  let vector = Float64Array.from({ length: size }, (_, i) => 1 + ((i * 7919) % 13) / 13);
  let found = 0;
  for (let time = 0; time < 60; time += 1) {
    const [there, back] = [new Float64Array(size), new Float64Array(size)];
    for (let r = 0, row = 0; r < size; r += 1, row += size) {
      let sum = 0;
      for (let c = 0; c < size; c += 1) sum += matrix[row + c] * vector[c];
      there[r] = sum;
      for (let c = 0; c < size; c += 1) back[c] += matrix[row + c] * sum;
    }
    const [old, norm] = [found, length(back)];
    if (norm === 0) return 0;
    found = length(there) / length(vector);
    vector = back.map((value) => value / norm);
    if (time > 3 && Math.abs(found - old) < 1e-5 * found) break;
  }
  return found;
}
