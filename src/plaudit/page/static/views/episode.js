// An episode step by step: the value of each term and the inputs; arrow keys move, space plays.

const { h, replace, section, emptyState } = plaudit.dom;
const { number, toNumber, extent, count, joinAddress, link, shorten, value: formatValue } = plaudit.format;
const { button, facts, tellReturn, tellEnd, tellMasked } = plaudit.controls;
const { colour, dash, swatch, named, makePositions, read } = plaudit.palette;

const INPUTS = 8;
const A_SECOND = 8;

async function show(page) {
  const [source, run, name] = page.parts;
  const episode = await page.get(joinAddress("episode", source, run, name));
  const reward = await page.getReward(episode.reward).catch(() => null);
  const mayGoOn = episode.so_far !== null || (!episode.end && episode.next === null);
  if (mayGoOn) page.follow(joinAddress("run", source, run));
  const title = h("h1", {}, `Episode ${shorten(episode.episode, 60)}`);
  if (episode.shown === 0) return [title, emptyState("This episode has no steps.")];
  const place = makePositions(reward);
  const ids = episode.step_ids ?? episode.steps.map(String);
  const player = makePlayer(page, episode, ids);
  const frames = plaudit.frames.makeFrames(page, episode);
  const panel = makePanel(page, episode, reward, place, frames, ids);
  const charts = [drawTimeline(episode, place, player, frames), ...drawInputs(page, episode, player)];
  player.onMove((at) => {
    charts.forEach((each) => each.mark?.(at));
    panel.update(at);
  });
  page.onKey((event) => handleKey(event, player));
  return [
    title,
    h("p.lead", {}, tellEpisode(episode)),
    facts(summarise(episode)),
    h("div.bar", {}, player.controls, neighbours(page, episode)),
    h(
      "div.aside",
      {},
      h(
        "div",
        {},
        section("Terms per step", {}, charts[0].element),
        section(
          "Inputs",
          {},
          charts.slice(1).map((each) => each.element),
        ),
      ),
      panel.element,
    ),
  ];
}

function tellEpisode({ shown, of, records }) {
  const part = shown < of ? `The first ${number(shown)} of ${count(of, "step")}` : count(of, "step");
  const [first, last] = records.map((each) => number(each));
  const kept = first === last ? `record ${first}` : `records ${first} to ${last}`;
  return `${part}, ${kept}. Use the arrow keys to move between steps, space to play.`;
}

function summarise(episode) {
  const total = episode.total.map(toNumber);
  const [worst, best] = extent(total).map((each) => total.indexOf(each));
  const masked = Object.keys(episode.masked).length;
  return [
    tellReturn(episode),
    ["Steps", number(episode.of), masked > 0 && `${number(masked)} not scored`],
    tellEnd(episode),
    worst >= 0 && ["Lowest reward", number(total[worst]), `at step ${nameStep(episode, worst)}`],
    best >= 0 && ["Highest reward", number(total[best]), `at step ${nameStep(episode, best)}`],
  ];
}

const nameStep = (episode, at) => String(episode.steps[at] ?? at);

/** The number of a step and the count of recorded steps: numbers may count over the whole run, and some may be missing. */
const placeStep = (episode, at) =>
  episode.steps[at] === at + 1
    ? `step ${number(at + 1)} of ${number(episode.of)}`
    : `step ${nameStep(episode, at)} (${number(at + 1)} of ${number(episode.of)} recorded)`;

/** The selected step, and the controls that select another. */
function makePlayer(page, episode, ids) {
  const last = episode.shown - 1;
  let at = Math.max(0, ids.indexOf(page.options.step ?? ids[0]));
  let timer = null,
    later = null;
  const listeners = [];
  const slider = h("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    id: "step-slider",
    "aria-label": "Step",
    oninput: () => move(Number(slider.value)),
  });
  slider.value = String(at);
  const tell = h("output", { for: "step-slider" });
  const play = button("Play", () => toggle(), { id: "play" });

  function move(to) {
    at = Math.min(last, Math.max(0, to));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `step ${nameStep(episode, at)}`);
    tell.textContent = placeStep(episode, at);
    listeners.forEach((each) => each(at));
    clearTimeout(later);
    later = setTimeout(() => page.keep({ step: ids[at] }), 250); // browsers refuse an address that changes with every key
  }

  function toggle(on = timer === null) {
    clearInterval(timer);
    timer = on ? setInterval(() => (at >= last ? toggle(false) : move(at + 1)), 1000 / A_SECOND) : null;
    if (on && at >= last) move(0);
    play.textContent = on ? "Pause" : "Play";
  }

  page.onLeave(() => {
    clearInterval(timer);
    clearTimeout(later);
  });
  return {
    get at() {
      return at;
    },
    move,
    toggle,
    last,
    open: () => {
      location.hash = link("step", ...page.parts, ids[at]);
    },
    onMove(listener) {
      listeners.push(listener);
      if (listeners.length === 1) move(at);
    },
    controls: [play, h("span.slide", {}, slider), tell],
  };
}

function handleKey(event, player) {
  const moves = {
    ArrowLeft: player.at - 1,
    ArrowRight: player.at + 1,
    Home: 0,
    End: player.last,
    PageUp: player.at - 10,
    PageDown: player.at + 10,
  };
  const onButton = event.target instanceof HTMLElement && event.target.closest("button, a, summary");
  if (event.key in moves) player.move(moves[event.key]);
  else if (event.key === " " && !onButton) player.toggle();
  else if (event.key === "Enter" && !onButton) player.open();
  else return;
  event.preventDefault();
}

function neighbours(page, episode) {
  const [source, run] = page.parts;
  const other = (name, text) =>
    name !== null &&
    name !== undefined &&
    plaudit.store.has(joinAddress("episode", source, run, name)) &&
    h("a", { href: link("episode", source, run, name) }, text);
  return h("span.bar.flat", {}, other(episode.previous, "← Previous episode"), other(episode.next, "Next episode →"));
}

function drawTimeline(episode, place, player, frames) {
  const parts = { ...episode.values, ...episode.adjustments };
  const series = Object.entries(parts).map(([name, values]) => ({
    name,
    values,
    colour: colour(place(name)),
    dash: dash(place(name)),
    mark: swatch(place(name)),
    kind: "none",
  }));
  const masked = Object.keys(episode.masked).map(Number);
  const pile = plaudit.stacks.pile(series, "bars");
  series.push({ name: "total", values: episode.total, colour: read("ink"), kind: "none" });
  return plaudit.charts.chart({
    label: `Value of each term over ${count(episode.shown, "step")}`,
    x: xOf(episode),
    xTitle: "step",
    xFormat: (x) => stepName(episode, x),
    series,
    height: 300,
    together: "episode",
    range: pile.range,
    onToggle: pile.toggle,
    onPick: player.move,
    onHover: frames.glance,
    xRange: rangeOf(episode),
    under: (plot, draw) => {
      shadeMasked(plot, draw, masked);
      pile.draw(plot, draw);
      plaudit.charts.drawLine(plot, draw, { y: 0, colour: read("quiet") });
    },
    over: (plot, draw) => plot.series.at(-1).show && plaudit.stacks.drawLevels(plot, draw, episode.total, read("ink")),
    caption: [
      "Rewards are above zero, costs below. Click a step to select it, drag to zoom, double-click to reset.",
      masked.length > 0 && ` Shaded: ${count(masked.length, "step")} that could not be scored.`,
    ],
  });
}

/** Steps without a score have no bar, like steps that earned 0, so they are shaded. */
function shadeMasked(plot, draw, masked) {
  const width = Math.max(1, Math.abs(plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true)));
  draw.fillStyle = read("line");
  for (const at of masked)
    draw.fillRect(plot.valToPos(at, "x", true) - width / 2, plot.bbox.top, width, plot.bbox.height);
}

/** Half a step more on either side; for a single step, uPlot would choose another width. */
const rangeOf = (episode) => (plot, low, high) =>
  episode.shown === 1 ? [-0.5, 0.5] : [low - 0.5, high + 0.5];
const xOf = (episode) => Array.from({ length: episode.shown }, (_, at) => at);
const stepName = (episode, x) =>
  Number.isInteger(x) && x >= 0 && x < episode.shown ? nameStep(episode, x) : "";

/** A line for each input; those that never change are only named. */
function drawInputs(page, episode, player) {
  const entries = Object.entries(episode.inputs);
  const moving = entries.filter(([, values]) => values.some((each) => each !== values[0]));
  const still = entries.filter(([, values]) => values.every((each) => each === values[0]));
  const all = page.options.inputs === "all";
  const shown = (all ? moving : moving.slice(0, INPUTS)).map(([name, values]) =>
    drawInput(episode, name, values, player),
  );
  const rest = [
    !all &&
      moving.length > INPUTS &&
      h(
        "p",
        {},
        button(`Show all ${moving.length}`, () => page.redraw({ inputs: "all" }), { id: "all-inputs" }),
      ),
    entries.length === 0 && emptyState("No inputs were recorded."),
    still.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `${count(still.length, "input")} did not change`),
        h("p.quiet", {}, still.map(([name, values]) => `${name} = ${nameValue(episode, name, values[0])}`).join(", ")),
      ),
  ];
  return [...shown, { element: h("div", {}, rest) }];
}

function drawInput(episode, name, values, player) {
  const tell = h("output", {});
  const chart = plaudit.charts.chart({
    label: `${name} at every step`,
    x: xOf(episode),
    height: 52,
    legend: false,
    axes: false,
    together: "episode",
    zoom: false,
    onPick: player.move,
    series: [{ name, values, colour: read("term-0"), width: 1.5, stepped: isStepped(values) }],
    xRange: rangeOf(episode),
  });
  const unit = episode.units?.[name];
  return {
    element: h(
      "div.spark",
      {},
      h("b", {}, shorten(name, 80), unit && h("span.quiet", {}, ` ${unit}`)),
      chart.element,
      tell,
    ),
    mark(at) {
      tell.textContent = nameValue(episode, name, values[at]);
      chart.mark(at);
    },
  };
}

/** Labels, bools and counts have no values in between. */
const isStepped = (values) =>
  values.every((each) => each === null || typeof each === "boolean" || Number.isInteger(each));

const nameValue = (episode, name, value) =>
  value === null
    ? "not given"
    : (episode.labels?.[name]?.[value] ??
      ((episode.flags ?? []).includes(name) ? String(Boolean(value)) : formatValue(value)));

/** The selected step: its picture, its terms, and a link to its explanation. */
function makePanel(page, episode, reward, place, frames, ids) {
  const body = h("div", { "aria-live": "off" });
  const terms = Object.entries({ ...episode.values, ...episode.adjustments });
  const biggest = Math.max(
    1e-12,
    ...terms
      .flatMap(([, values]) => extent(values))
      .map(Math.abs)
      .filter(Number.isFinite),
  );
  const row = ([name, values], at) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        named(place(name), name),
        plaudit.charts.boundsBar(
          [Math.min(0, toNumber(values[at] ?? 0)), Math.max(0, toNumber(values[at] ?? 0))],
          [-biggest, biggest],
          colour(place(name)),
        ),
      ),
      h("td.number", {}, number(values[at])),
    );
  const sources = makeSources(episode, reward, place);
  const update = (at) => {
    frames.show(at);
    sources.show(at);
    const masked = tellMasked(episode.masked[at]);
    replace(
      body,
      masked
        ? h("p.note", {}, masked)
        : h(
            "table",
            {},
            h("caption.hidden", {}, "Terms of this step"),
            h(
              "tbody",
              {},
              terms.map((each) => row(each, at)),
              h(
                "tr",
                {},
                h("th", { scope: "row" }, "total"),
                h("td.number", {}, h("strong", {}, number(episode.total[at]))),
              ),
            ),
          ),
      episode.native && h("p.quiet", {}, `Environment reward: ${number(episode.native[at])}`),
      h(
        "p",
        {},
        h(
          "a",
          { href: link("step", ...page.parts, ids[at]), id: "why" },
          masked ? "See what was recorded →" : "Explain this step →",
        ),
      ),
    );
    heading.textContent = `Step ${nameStep(episode, at)}`;
  };
  const heading = h("h2", {});
  return { element: h("section.card.sticky", {}, heading, frames.element, body, sources.element), update };
}

/** The sources of the terms, with the lines that the step executed; drawn while they are open. */
function makeSources(episode, reward, place) {
  const body = h("div", {});
  let looked = 0;
  const draw = () => {
    const taken = episode.paths?.[episode.path?.[looked]] ?? {};
    const shown = (reward?.terms ?? []).filter((term) => term.source && Object.hasOwn(taken, term.name));
    const show = (term) => [
      h("h3", {}, named(place(term.name), term.name)),
      plaudit.terms.sourceCode(term.source, taken[term.name]),
    ];
    replace(body, shown.map(show));
  };
  const element = h("details", { id: "lines" }, h("summary", {}, "Source lines executed"), body);
  element.addEventListener("toggle", draw);
  const known = episode.paths?.some((each) => Object.keys(each).length > 0);
  return {
    element: known ? element : h("div", {}),
    show(at) {
      looked = at;
      if (element.open) draw();
    },
  };
}

plaudit.views.episode = { show };
