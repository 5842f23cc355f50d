// Asking the server. Every answer is kept, so that a view can be written to a file that works without a server.
import { credentials } from "./token.js";

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export const gone = () => new ApiError("The explorer does not answer. Is `rote explore` still running?", 0);

const KEPT = 400; // answers of one view
const SIZE = 24e6; // and characters of all of them

export function question(method, path, body) {
  return `${method} ${path} ${body === undefined ? "" : JSON.stringify(body)}`;
}

// What the server answered, by question; the oldest answers go first.
export class Recording {
  constructor() {
    this.answers = new Map();
    this.size = 0;
    this.waiting = new Set(); // for answers that are on their way
  }

  // Until everything that was asked has been answered, and what that made the view ask.
  async settled() {
    while (this.waiting.size) {
      await Promise.allSettled([...this.waiting]);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  keep(asked, text) {
    this.forget(asked);
    this.answers.set(asked, text);
    this.size += text.length;
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= KEPT && this.size <= SIZE) break;
      this.forget(oldest);
    }
  }

  forget(asked) {
    const text = this.answers.get(asked);
    if (text === undefined) return;
    this.size -= text.length;
    this.answers.delete(asked);
  }
}

async function ask(method, path, body, signal) {
  const options = { method, signal, headers: credentials() };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw gone();
  }
  if (response.ok) return response;
  let said = "";
  try {
    said = (await response.json()).error;
  } catch {
    said = `The server answered ${response.status}.`;
  }
  throw new ApiError(said, response.status);
}

export function liveApi(recording) {
  async function read(method, path, body, signal) {
    const text = await (await ask(method, path, body, signal)).text();
    recording.keep(question(method, path, body), text);
    return JSON.parse(text);
  }
  function answered(method, path, body, { signal } = {}) {
    const answer = read(method, path, body, signal);
    recording.waiting.add(answer);
    const done = () => recording.waiting.delete(answer);
    answer.then(done, done);
    return answer;
  }
  return {
    get: (path, options) => answered("GET", path, undefined, options),
    post: (path, body, options) => answered("POST", path, body, options),
    // Something to tell the server even while the page closes; nobody waits for an answer.
    send(path, body) {
      const headers = { ...credentials(), "content-type": "application/json" };
      fetch(path, { method: "POST", keepalive: true, headers, body: JSON.stringify(body) }).catch(() => {});
    },
    // Newline-delimited JSON: for await (const row of api.stream(path, body, { signal })) ...
    async *stream(path, body, { signal } = {}) {
      const reader = (await ask("POST", path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
      let all = "";
      let rest = "";
      try {
        for (;;) {
          const { value, done } = await reader.read().catch((error) => {
            throw error.name === "AbortError" ? error : gone();
          });
          if (done) break;
          all = all.length < SIZE / 4 ? all + value : all;
          const lines = (rest + value).split("\n");
          rest = lines.pop();
          for (const line of lines) if (line) yield JSON.parse(line);
        }
        if (rest) yield JSON.parse(rest);
      } finally {
        reader.cancel().catch(() => {});
        recording.keep(question("POST", path, body), all);
      }
    },
  };
}

// The same from a recording: what was not asked then needs the live explorer.
export function recordedApi(answers) {
  const found = (method, path, body) => {
    const text = answers[question(method, path, body)];
    if (text === undefined) throw new ApiError("This needs the live explorer: run `rote explore` and open the view there.", 0);
    return text;
  };
  return {
    recorded: true,
    get: async (path) => JSON.parse(found("GET", path)),
    post: async (path, body) => JSON.parse(found("POST", path, body)),
    send() {},
    async *stream(path, body) {
      for (const line of found("POST", path, body).split("\n")) {
        try {
          if (line) yield JSON.parse(line);
        } catch {
          return; // the last line of a stream that was stopped
        }
      }
    },
  };
}
