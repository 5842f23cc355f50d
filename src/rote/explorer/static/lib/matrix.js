// Connectivity of one text in one model: numbers by output and input, over characters or whole words.

// Little-endian float32 in base64.
export function floats(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// Words of a text: which symbols each has.
export function wordsOf(numbers) {
  const found = [];
  numbers.forEach((word, at) => {
    if (at === 0 || word !== numbers[at - 1]) found.push({ first: at, last: at });
    found[found.length - 1].last = at;
  });
  return found;
}

export class Matrix {
  // answer: of POST /api/connectivity; norm: how several symbols add up to a word.
  constructor(answer, norm) {
    this.size = answer.symbols.length;
    this.causal = answer.causal;
    this.values = floats(answer.values);
    this.norm = norm;
    this.words = wordsOf(answer.words);
    this.wordOf = [];
    this.words.forEach(({ first, last }, word) => {
      for (let at = first; at <= last; at += 1) this.wordOf[at] = word;
    });
    this.largest = this.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    this.largestWord = undefined;
  }

  at(output, input) {
    if (!this.causal) return this.values[output * this.size + input];
    return input > output ? 0 : this.values[(output * (output + 1)) / 2 + input];
  }

  // The gradient with respect to a whole word: squares add up, signed values too.
  atWord(output, word) {
    const { first, last } = this.words[word];
    let sum = 0;
    for (let input = first; input <= last; input += 1) {
      const value = this.at(output, input);
      sum += this.norm === "l2" ? value * value : value;
    }
    return this.norm === "l2" ? Math.sqrt(sum) : sum;
  }

  value(output, input, whole) {
    return whole ? this.atWord(output, this.wordOf[input]) : this.at(output, input);
  }

  // What the output draws on (along = "row"), or what the input influences ("column"), at every position.
  series(position, along, whole) {
    const byWord = whole && along === "row" ? this.words.map((_, word) => this.atWord(position, word)) : null;
    return Array.from({ length: this.size }, (_, other) => {
      if (byWord) return byWord[this.wordOf[other]];
      return along === "row" ? this.at(position, other) : this.value(other, position, whole);
    });
  }

  // Where a value can be other than 0.
  reaches(position, other, along) {
    return !this.causal || (along === "row" ? other <= position : other >= position);
  }

  most(whole) {
    if (!whole) return this.largest;
    if (this.largestWord === undefined) {
      let most = 0;
      for (let output = 0; output < this.size; output += 1) {
        for (let word = 0; word < this.words.length; word += 1) most = Math.max(most, Math.abs(this.atWord(output, word)));
      }
      this.largestWord = most;
    }
    return this.largestWord;
  }

  // The word that an output draws on most, and its part of all.
  strongest(output) {
    const weights = this.words.map((_, word) => Math.abs(this.atWord(output, word)));
    const sum = weights.reduce((total, value) => total + value, 0);
    const word = weights.indexOf(Math.max(...weights));
    return { word, share: sum > 0 ? weights[word] / sum : 0 };
  }
}
