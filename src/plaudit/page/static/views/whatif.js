// Other values for the same formula: change a knob, and every step is rescored before the next frame.

const { h, replace, section, emptyState } = plaudit.dom;
const { number, toNumber, count, joinAddress, link, signed, shorten, runName } = plaudit.format;
const { button, facts } = plaudit.controls;
const { named, makePositions, read } = plaudit.palette;

async function show(page) {
  const [source, run] = page.parts;
  const address = joinAddress("whatif", source, run);
  const about = await plaudit.store.get(address); // not followed: nothing may be redrawn while a slider is dragged
  const news = h("div", { role: "status" });
  page.watch(address, () =>
    replace(
      news,
      h(
        "p.note",
        {},
        "New steps were recorded. ",
        h("button.plain", { type: "button", onclick: () => page.redraw() }, "Include them"),
      ),
    ),
  );
  const title = h("h1", {}, "What if");
  if (!about.reward || about.episodes.length === 0)
    return [title, emptyState("No episodes to rescore.", about.note)];
  const reward = await page.getReward(about.reward);
  if (!reward.module) return [title, emptyState("This reward cannot run in a browser.", reward.module_missing)];
  const episodes = await Promise.all(about.episodes.map((each) => plaudit.store.get(each.address)));
  const set = plaudit.knobs.readSet(page.options.set, reward.knobs);
  const view = makeResults(page, about, reward, episodes);
  const knobs = plaudit.knobs.makeKnobs(reward.knobs, set, (event) => turned(event));
  const worker = plaudit.rescoring.startWorker(reward.module, view.update);
  const whole = about.whole ? makeWhole(page) : null;
  let later = null,
    turn = 0;

  function turned(event) {
    const values = knobs.values();
    view.expect(++turn, event.timeStamp);
    worker.send({ turn, knobs: values });
    clearTimeout(later);
    later = setTimeout(() => {
      page.keep({ set: Object.keys(values).length ? JSON.stringify(values) : null });
      whole?.ask(values);
    }, 250);
  }

  worker.send(plaudit.rescoring.joinColumns(episodes));
  if (Object.keys(set).length) {
    worker.send({ turn: 0, knobs: set });
    whole?.ask(set);
  }
  page.onLeave(() => {
    worker.stop();
    clearTimeout(later);
    whole?.stop();
  });
  return [
    title,
    h("p.lead", {}, tellScope(about, run)),
    news,
    h(
      "div.whatif",
      {},
      h(
        "section.card.sticky",
        {},
        h(
          "div.bar.head",
          {},
          h("h2", {}, "Knobs"),
          button(
            "Reset all",
            (event) => {
              knobs.reset();
              turned(event);
            },
            { id: "reset" },
          ),
        ),
        knobs.element,
        h("div.copies", {}, h("span.quiet", {}, "Copy as"), ...plaudit.knobs.makeCopies(reward, knobs)),
      ),
      h("div", {}, view.element, whole?.element),
    ),
  ];
}

function tellScope(about, run) {
  const part =
    about.shown < about.of
      ? `${number(about.shown)} of ${count(about.of, "episode")} (${number(about.steps)} of ${count(about.of_steps, "step")})`
      : `all ${count(about.of, "episode")} (${count(about.steps, "step")})`;
  const open = about.unfinished ? ` ${count(about.unfinished, "unfinished episode")} left out.` : "";
  return `${runName(run)}: ${part} rescored in this browser with the same definition.${about.whole ? " The server rescores the whole run." : ""}${open}`;
}

/** What changes: the sums, the curve of all steps, the episodes before and after, the largest changes. */
function makeResults(page, about, reward, episodes) {
  const list = h("div", {}),
    notes = h("div", { role: "status" }),
    picture = h("div", {}),
    points = h("div", {}),
    table = h("div", {});
  const told = Object.fromEntries(
    ["before", "after", "change", "changed", "moved"].map((name) => [name, h("span", { id: name })]),
  );
  let before = null,
    charts = null,
    expected = null,
    steps = 0,
    different = 0,
    lost = 0,
    masked = 0,
    terms = null;

  function draw(answer) {
    before = answer.before;
    ({ steps, different, lost, masked } = answer);
    charts = { curve: drawCurve(before.curve), points: drawReturns(page, before.returns, episodes) };
    terms = makeTerms(before.terms, steps, makePositions(reward));
    replace(picture, charts.curve.element);
    replace(points, charts.points.element);
    replace(table, terms.element);
    fill({ ...before, changed: 0, bad: 0, largest: [] });
  }

  /** Texts are put into the elements that are there: a new table costs a layout. */
  function fill(answer) {
    const mean = (values) => values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);
    const [then, now] = [mean(before.returns), mean(answer.returns)];
    const texts = {
      before: number(then),
      after: number(now),
      change: signed(now - then),
      changed: number(answer.changed),
      moved: number(countMoves(before.returns, answer.returns)),
    };
    for (const [name, text] of Object.entries(texts)) told[name].textContent = text;
    terms.update(answer.terms);
    replace(list, listLargest(page, answer.largest, episodes));
    replace(
      notes,
      answer.bad > 0 &&
        h(
          "p.note",
          {},
          `${count(answer.bad, "step")} cannot be scored with these values and ${answer.bad === 1 ? "is" : "are"} left out.`,
        ),
      masked > 0 &&
        h("p.note", {}, `${count(masked, "step was", "steps were")} recorded without a score and left out of all sums.`),
      lost > 0 && h("p.note", {}, `${count(lost, "step")} cannot be scored in a browser and ${lost === 1 ? "is" : "are"} left out of all sums.`),
      different > 0 &&
        h(
          "p.note",
          {},
          `${count(different, "step has", "steps have")} a recorded score that differs from what this definition computes.`,
        ),
    );
  }

  function update(answer) {
    if (answer.error) return replace(notes, h("p.note", {}, answer.error));
    if (answer.ready) return draw(answer);
    fill(answer);
    charts.curve.setValues(...[before.curve, answer.curve].flatMap(({ mean, low, high }) => [mean, low, high]));
    charts.points.setReturns(answer.returns);
    if (expected?.turn === answer.turn) measure(expected.time);
    return undefined;
  }

  const summary = facts([
    ["Mean return before", told.before],
    ["Mean return after", told.after],
    ["Change", told.change],
    ["Steps changed", told.changed, `of ${number(about.steps)}`],
    ["Rank changes", told.moved, `of ${number(episodes.length)}`],
  ]);
  return {
    element: h(
      "div",
      {},
      section("Changes", {}, summary, notes, table),
      section("Steps", {}, picture),
      h("div.columns", {}, section("Episodes", {}, points), section("Largest changes", {}, list)),
    ),
    update,
    expect: (turn, time) => {
      expected = { turn, time };
    },
  };
}

/** Record the time from the input to the painted frame in the browser's performance timeline. */
function measure(start) {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => performance.measure("what-if", { start, end: performance.now() });
    channel.port2.postMessage(null);
  });
}

function countMoves(before, after) {
  const rank = (list) => [...list.keys()].sort((a, b) => list[a] - list[b] || a - b);
  const [first, second] = [rank(before), rank(after)];
  return first.filter((each, at) => each !== second[at]).length;
}

function drawCurve({ each, mean, low, high }) {
  return plaudit.charts.chart({
    label: "Total of every step, before and after",
    x: low.map((_, at) => at * each),
    xTitle: "step (all episodes in order)",
    height: 200,
    xName: "step",
    series: [
      { name: "before", values: mean, low, high, colour: read("term-7"), width: 1 },
      { name: "after", values: mean, low, high, colour: read("term-0"), width: 1.25 },
    ],
    caption: each > 1 ? `Mean of every ${each} steps; the band shows the lowest and the highest.` : null,
  });
}

/** Returns before and after: points on the diagonal did not change. */
function drawReturns(page, before, episodes) {
  const order = [...before.keys()].sort((a, b) => before[a] - before[b]);
  const x = order.map((at) => before[at]);
  const made = plaudit.charts.chart({
    label: "Return of every episode, before and after",
    x,
    xTitle: "return before",
    height: 260,
    legend: false,
    zoom: false,
    series: [{ name: "after", values: x, colour: read("term-0"), kind: "points" }],
    under: plaudit.charts.drawDiagonal,
    onPick: (at) => {
      location.hash = link("episode", ...page.parts, episodes[order[at]].episode);
    },
    caption: "Y axis: return after. Points on the line did not change.",
  });
  return {
    element: made.element,
    setReturns: (after) => made.setValues(plaudit.charts.clean(order.map((at) => after[at]))),
  };
}

/** The mean value of each term per step, before and after. */
function makeTerms(before, steps, place) {
  const cells = new Map(Object.keys(before).map((name) => [name, { after: h("span", {}), change: h("span", {}) }]));
  const mean = (sums, name) => (sums[name] ?? 0) / Math.max(1, steps);
  const element = plaudit.table({
    label: "Terms before and after, mean per step",
    rows: Object.keys(before),
    columns: [
      { name: "Mean per step", value: (name) => name, show: (name) => named(place(name), name), sortable: false },
      { name: "Before", number: true, value: (name) => mean(before, name), sortable: false },
      { name: "After", number: true, value: () => null, show: (name) => cells.get(name).after, sortable: false },
      { name: "Change", number: true, value: () => null, show: (name) => cells.get(name).change, sortable: false },
    ],
  });
  const update = (sums) =>
    cells.forEach(({ after, change }, name) => {
      after.textContent = number(mean(sums, name));
      change.textContent = signed(mean(sums, name) - mean(before, name));
    });
  return { element, update };
}

function listLargest(page, largest, episodes) {
  if (largest.length === 0) return emptyState("No steps change.", "Move a slider.");
  const starts = [];
  episodes.reduce((sum, each) => {
    starts.push(sum);
    return sum + each.shown;
  }, 0);
  const rows = largest.map(([at, , before, after]) => {
    let which = starts.length - 1;
    while (starts[which] > at) which--;
    const episode = episodes[which],
      step = (episode.step_ids ?? episode.steps)[at - starts[which]];
    return { episode: episode.episode, step, before, after };
  });
  return plaudit.table({
    label: "Largest changes",
    rows,
    columns: [
      {
        name: "Step",
        value: (row) => row.step,
        sortable: false,
        show: (row) =>
          h(
            "a",
            { href: link("step", ...page.parts, row.episode, row.step) },
            `${shorten(row.episode, 40)} / ${row.step}`,
          ),
      },
      { name: "Before", number: true, value: (row) => row.before, sortable: false },
      { name: "After", number: true, value: (row) => row.after, sortable: false },
    ],
  });
}

/** The whole run, rescored by the server. */
function makeWhole(page) {
  const body = h("div", {}, h("p.quiet", {}, "Change a knob and the server rescores every step of the run."));
  let request = null;
  async function ask(values) {
    request?.abort();
    request = new AbortController();
    try {
      const found = await plaudit.store.request(
        `${joinAddress("rescore", ...page.parts)}?${new URLSearchParams({ set: JSON.stringify(values) })}`,
        { signal: request.signal },
      );
      replace(body, showWhole(page, found));
    } catch (error) {
      if (error.name !== "AbortError") replace(body, h("p.note", {}, error.message));
    }
  }
  return { element: section("Whole run", {}, body), ask, stop: () => request?.abort() };
}

function showWhole(page, found) {
  const { before, after } = found.return;
  const [then, now] = [before?.mean ?? before, after?.mean ?? after];
  return [
    facts([
      ["Mean return before", number(then)],
      ["Mean return after", number(now)],
      ["Change", signed(toNumber(now) - toNumber(then))],
      ["Steps", number(found.steps), found.masked > 0 && `${number(found.masked)} not scored`],
    ]),
    found.refused > 0 &&
      h(
        "p.note",
        {},
        `${count(found.refused, "step")} cannot be scored with these values; `,
        `${count(found.broken, "episode")} left out of returns and ranks.`,
      ),
    plaudit.table({
      label: "Episodes by rank",
      rows: found.ranking,
      most: 10,
      columns: [
        {
          name: "Episode",
          value: (row) => row.episode,
          show: (row) => h("a", { href: link("episode", ...page.parts, row.episode) }, shorten(row.episode, 40)),
        },
        { name: "Before", number: true, value: (row) => row.before },
        { name: "After", number: true, value: (row) => row.after },
        { name: "Rank before", number: true, value: (row) => row.rank_before },
        { name: "Rank after", number: true, value: (row) => row.rank_after },
      ],
    }),
  ];
}

plaudit.views.whatif = { show };
