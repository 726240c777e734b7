// Documents by address, from this file or from the server, and notices of changes.

const live = document.documentElement.dataset.live === "true";
const embedded = JSON.parse(document.getElementById("documents").textContent);

/** A document that is not here. */
class Missing extends Error {}

const MOST = 64;
/** @type {Map<string, Promise<any>>} the newest last */
const kept = new Map();

/** Return the document of an address; a second request for it is the first one. */
function get(address) {
  const known = kept.get(address) ?? load(address);
  kept.delete(address);
  kept.set(address, known);
  known.catch(() => kept.delete(address));
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return known;
}

function load(address) {
  if (Object.hasOwn(embedded, address)) return inflate(embedded[address]);
  if (live) return request(`documents/${address}`);
  return Promise.reject(new Missing(`This report does not contain “${address.slice(0, 200)}”.`));
}

/** Whether an address may be opened: a report knows what it contains, a server is asked. */
const has = (address) => live || Object.hasOwn(embedded, address);

/** The addresses in a report that begin with a text. */
const list = (start) => Object.keys(embedded).filter((address) => address.startsWith(start));

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

/** Ask the server; one that was started again has another token, and a page of its own that asks for it. */
async function ask(path, signal) {
  const answer = await fetch(path, { signal });
  if (answer.status === 401) location.reload();
  return answer;
}

async function request(path, { signal } = {}) {
  let answer;
  try {
    answer = await ask(path, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Missing("The server does not answer. Is plaudit dashboard still running?");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Missing(body.error ?? `The server answered ${answer.status}.`);
  return body;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/**
 * Follow the server for as long as the page is open.
 * @param {(addresses: string[] | null) => void} changed documents that are new; null when anything may be
 * @param {(state: "live" | "lost" | "gone", message?: string) => void} tell
 */
async function listen(changed, tell) {
  for (let wait = 0; live; wait = Math.min(15, wait + 1)) {
    if (wait) await pause(wait);
    try {
      const answer = await ask("events");
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      tell("live");
      if (wait) forget(null, changed);
      wait = 0;
      for await (const { event, data } of readEvents(answer.body)) {
        if (event === "changed") forget(data, changed);
        if (event === "gone") tell("gone", String(data));
        if (event === "back") tell("live");
      }
    } catch {
      // It is tried again below, and said until then.
    }
    tell("lost");
  }
}

/** Forget documents that are old; with a run, those of its episodes, which are too many to be named. */
function forget(addresses, changed) {
  if (addresses === null) kept.clear();
  const runs = new Set(
    (addresses ?? []).filter((address) => address.startsWith("run/")).map((address) => address.slice(4)),
  );
  for (const address of [...kept.keys()]) {
    if (addresses?.includes(address) || runs.has(address.split("/").slice(1, 3).join("/"))) kept.delete(address);
  }
  changed(addresses);
}

/** Yield the events of a stream: blocks of `event:` and `data:` lines with an empty line after each. */
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + part.value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 1).trim()]),
      );
      if (fields.event) yield { event: fields.event, data: JSON.parse(fields.data ?? "null") };
    }
  }
}

plaudit.store = { get, has, list, request, listen, live, Missing };
