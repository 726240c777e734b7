// The URL fragment (after #) says what is shown and how, so a link can be shared.

const { h, replace, emptyState } = plaudit.dom;
const { joinAddress, link, shorten, runName } = plaudit.format;

/** The views of a run; compare and reward depend on which rewards the run used. */
const TABS = { run: "Run", episodes: "Episodes", whatif: "What if", compare: "Compare" };

let leave = [];
let keys = null;
let shown = { hash: "", used: new Set(), watched: new Map() };
let refreshing = null,
  isLate = false;
let turn = 0;

/** Take `#/run/l0/first?smooth=9` apart. */
function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [kind = "", ...parts] = path.split("/").map(decode);
  return { kind: kind || "index", parts, options: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What a view is given: where it is, how to get documents, and how to say that it is to be shown differently. */
function makePage(place, drawn) {
  const { used, watched } = drawn;
  const page = {
    ...place,
    /** Return a document, and show the view again when it changes. */
    get(address) {
      used.add(address);
      return plaudit.store.get(address);
    },
    /** Return what a reward is; without what checks find, which takes long, where a server is asked for it. */
    getReward: (id) => page.get(joinAddress(plaudit.store.live ? "definition" : "reward", id)),
    /** Show the view again when another document changes. */
    follow: (address) => used.add(address),
    /** Do something else than showing the view again when a document changes. */
    watch: (address, action) => watched.set(address, action),
    /** Change the address without leaving the view; null takes an option away. A view that was left changes nothing. */
    keep(changes) {
      if (location.hash !== drawn.hash) return;
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") delete page.options[name];
        else page.options[name] = String(value);
      }
      const query = new URLSearchParams(page.options).toString();
      const path = location.hash.split("?")[0] || "#/index";
      history.replaceState(null, "", query ? `${path}?${query}` : path);
      if (shown.hash === drawn.hash) document.getElementById("main").dataset.shown = shown.hash = location.hash;
      drawn.hash = location.hash;
    },
    /** Change options and draw the view again. */
    redraw(changes = {}) {
      page.keep(changes);
      return show({ again: true });
    },
    onLeave: (action) => leave.push(action),
    onKey: (action) => {
      keys = action;
    },
  };
  return page;
}

/** Show what the address says. `again`: the same place, so the scroll position and the focus stay. */
async function show({ again = false } = {}) {
  const mine = ++turn;
  const main = document.getElementById("main");
  const place = parse(location.hash);
  const drawn = { hash: location.hash, used: new Set(), watched: new Map() };
  const waiting = setTimeout(() => main.setAttribute("aria-busy", "true"), 250);
  const fresh = [];
  const previous = leave;
  leave = fresh;
  keys = null;
  let content,
    index = null;
  try {
    index = await plaudit.store.get("index");
    const view = Object.hasOwn(plaudit.views, place.kind) ? plaudit.views[place.kind] : null;
    content = view ? await view.show(makePage({ ...place, index }, drawn)) : describeUnknown(place.kind);
  } catch (error) {
    if (!(error instanceof plaudit.store.Missing)) console.error(error);
    content = describeFailure(error);
  }
  clearTimeout(waiting);
  if (mine !== turn) return fresh.forEach((action) => action());
  previous.forEach((action) => action());
  const focused = again ? document.activeElement?.id : "";
  const scroll = again ? [scrollX, scrollY] : [0, 0];
  plaudit.charts.clear(main);
  main.removeAttribute("aria-busy");
  replace(document.getElementById("trail"), index && makeTrail(place, index));
  replace(main, index && makeTabs(place, index), content);
  shown = drawn;
  main.dataset.shown = shown.hash;
  const heading = main.querySelector("h1");
  document.title = heading ? `${heading.textContent} · plaudit` : "plaudit";
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  else if (!again && mine > 1) main.focus({ preventScroll: true });
  window.scrollTo(...scroll);
}

function describeUnknown(kind) {
  return [
    h("h1", {}, "Not found"),
    emptyState(`There is no view called “${shorten(kind)}”.`, h("a", { href: "#/index" }, "Back to the overview")),
  ];
}

function describeFailure(error) {
  const advice = plaudit.store.live
    ? "It may have been removed, or the address may be wrong."
    : "A report contains what fits its size limit. Use a larger --max-size to include more, or plaudit dashboard to see everything.";
  return [
    h("h1", {}, "Not available"),
    emptyState(error.message, advice, h("a", { href: "#/index" }, "Back to the overview")),
  ];
}

const OF_A_RUN = ["run", "episodes", "episode", "step", "whatif", "compare"];

/** Links upwards: the ledger and its run, the episode of a step. */
function makeTrail({ kind, parts }, index) {
  if (kind === "index") return null;
  const [source, run, episode, step] = parts;
  const named = index.sources.find((each) => each.id === source);
  const steps = [h("a", { href: "#/index" }, "Overview")];
  if (OF_A_RUN.includes(kind) && run !== undefined) {
    steps.push(
      h("a", { href: link("run", source, run) }, named ? `${shorten(named.name, 30)} / ${runName(run)}` : runName(run)),
    );
  }
  if (["episode", "step"].includes(kind)) steps.push(h("a", { href: link("episodes", source, run) }, "Episodes"));
  if (kind === "step")
    steps.push(
      h(
        "a",
        { href: `${link("episode", source, run, episode)}?step=${encodeURIComponent(step)}` },
        `Episode ${shorten(episode, 30)}`,
      ),
    );
  return h(
    "nav.trail",
    { "aria-label": "Breadcrumb" },
    h(
      "ol",
      {},
      steps.map((each) => h("li", {}, each)),
    ),
  );
}

/** Links across the views of a run. */
function makeTabs({ kind, parts: [source, run] }, index) {
  if (!OF_A_RUN.includes(kind) || run === undefined) return null;
  const rewards =
    index.sources.find((each) => each.id === source)?.runs?.find((each) => (each.run ?? "") === run)?.rewards ?? [];
  const under = { episode: "episodes", step: "episodes" }[kind] ?? kind;
  const tabs = Object.entries(TABS).map(([name, label]) => [link(name, source, run), label, name === under]);
  tabs.push(...rewards.slice(-1).map((id) => [link("reward", id), "Reward", false]));
  return h(
    "nav.tabs",
    { "aria-label": "Views of this run" },
    tabs.map(([href, label, current]) => h("a", { href, "aria-current": current ? "page" : null }, label)),
  );
}

const A_MOMENT = 1000;

/** Draw again if what is shown was made from one of these documents, or from any, where it is null; once in a moment. */
function refresh(addresses) {
  for (const [address, action] of shown.watched) if (addresses?.includes(address)) action();
  if (addresses !== null && !addresses.some((each) => shown.used.has(each))) return;
  if (refreshing !== null) {
    isLate = true;
    return;
  }
  show({ again: true });
  refreshing = setTimeout(() => {
    refreshing = null;
    if (isLate) refresh(null);
    isLate = false;
  }, A_MOMENT);
}

function start() {
  window.addEventListener("hashchange", () => location.hash !== shown.hash && show());
  window.addEventListener("keydown", (event) => {
    const typing =
      event.target instanceof Element && event.target.closest("input, select, textarea, [contenteditable]");
    if (keys && !typing && !event.altKey && !event.ctrlKey && !event.metaKey) keys(event);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show({ again: true }));
  return show();
}

plaudit.router = { start, refresh };
