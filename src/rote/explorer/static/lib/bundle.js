// A view as one file: its styles, its modules, and what the server answered while it was looked at.
const IMPORT = /(\bfrom\s*|^import\s*)"(\.{1,2}\/[^"]+)"/gm;
const POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";

async function text(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} could not be read for the file.`);
  return response.text();
}

// "/static/lib/dom.js" -> "rote/lib/dom.js": a name that the file's import map knows.
const named = (path) => path.replace("/static/", "rote/");

// Every module that is needed, by path, with its imports renamed.
async function modules(start) {
  const found = new Map();
  const pending = [...start];
  while (pending.length) {
    const path = pending.pop();
    if (found.has(path)) continue;
    const source = await text(path);
    const resolve = (specifier) => new URL(specifier, new URL(path, location.origin)).pathname;
    found.set(path, source.replace(IMPORT, (_, before, specifier) => `${before}"${named(resolve(specifier))}"`));
    for (const match of source.matchAll(IMPORT)) pending.push(resolve(match[2]));
  }
  return found;
}

function encoded(source) {
  let binary = "";
  for (const byte of new TextEncoder().encode(source)) binary += String.fromCharCode(byte);
  return `data:text/javascript;base64,${btoa(binary)}`;
}

// JSON inside a script element: nothing in it can end the element.
const embedded = (value) => JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
const escaped = (value) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

export async function bundle(open, recording, values) {
  const { view } = open;
  const answers = Object.fromEntries(recording.answers);
  const sheets = await Promise.all([...document.querySelectorAll('link[rel="stylesheet"]')].map((link) => text(new URL(link.href).pathname)));
  const path = `/static/views/${view.name}.js`;
  const all = await modules([path, "/static/lib/offline.js"]);
  const imports = Object.fromEntries([...all].map(([key, source]) => [named(key), encoded(source)]));
  const saved = { name: view.name, title: view.title, values, answers, when: new Date().toISOString().slice(0, 16).replace("T", " ") };
  const start = `import { replay } from "rote/lib/offline.js";\nimport { view } from "${named(path)}";\nreplay(view, JSON.parse(document.getElementById("saved").textContent));`;
  return `<!doctype html>
<html lang="en" class="js">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escaped(view.title)} · Rote explorer</title>
<style>${sheets.join("\n").replaceAll("</", "<\\/")}</style>
<script type="importmap">${embedded({ imports })}</script>
<script type="application/json" id="saved">${embedded(saved)}</script>
</head>
<body>
<header class="bar"><p class="wordmark"><b>Rote</b> <span class="subtitle">explorer</span></p><p class="hint" id="origin"></p></header>
<main id="view" tabindex="-1"></main>
<div id="announcer" class="hidden" role="status" aria-live="polite"></div>
<script type="module">${start.replaceAll("</", "<\\/")}</script>
</body>
</html>
`;
}
