// Documents by address: out of this file, or from the server; and news of those that have changed.

const live = document.documentElement.dataset.live === "true";
const embedded = JSON.parse(document.getElementById("documents").textContent);
const token = new URLSearchParams(location.search).get("token");

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
  return Promise.reject(new Missing(`This report does not hold “${decodeURIComponent(address)}”.`));
}

/** Whether an address can be opened without asking anybody. */
const has = (address) => live || Object.hasOwn(embedded, address);

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

async function request(path, query = {}) {
  const asked = new URLSearchParams(token ? { ...query, token } : query).toString();
  let answer;
  try {
    answer = await fetch(asked ? `${path}?${asked}` : path, { headers: { accept: "application/json" } });
  } catch {
    throw new Missing("The server does not answer. Is `plaudit dashboard` still running?");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Missing(body.error ?? `The server answered ${answer.status}.`);
  return body;
}

/** Call `changed` with the addresses whose documents are new, and `connected` when the server comes or goes. */
function listen(changed, connected) {
  if (!live) return;
  const source = new EventSource(token ? `events?${new URLSearchParams({ token })}` : "events");
  source.addEventListener("open", () => connected(true));
  source.addEventListener("error", () => connected(false));
  source.addEventListener("changed", (event) => {
    const addresses = JSON.parse(event.data);
    for (const address of addresses) kept.delete(address);
    changed(addresses);
  });
}

plaudit.store = { get, has, request, listen, live, Missing };
