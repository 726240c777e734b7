// Scoring again in a worker: the reward's own module of JavaScript, over the columns of episodes, with other knobs.

const { toNumber } = plaudit.format;

/**
 * What runs in the worker, after the text of the module: its names (`scoreBatch`, `CARRIED`, …) are those of the module.
 * It keeps the columns and what they scored at first, and answers knobs with sums, not with every step. A step that
 * was recorded without a score (NaN) has none with other knobs either; no sum counts a step without a score.
 */
function work() {
  const POINTS = 400,
    LARGEST = 10;
  let given = null,
    first = null,
    out = null;

  function sumEpisodes(total) {
    const sums = new Float64Array(given.starts.length);
    for (let episode = 0; episode < sums.length; episode++) {
      const end = given.starts[episode + 1] ?? total.length;
      for (let at = given.starts[episode]; at < end; at++) if (total[at] === total[at]) sums[episode] += total[at];
    }
    return sums;
  }

  /** Of neighbours that share a point of the screen, the mean, the lowest and the highest: no peak is lost. */
  function reduce(total) {
    const each = Math.max(1, Math.ceil(total.length / POINTS));
    const mean = [],
      low = [],
      high = [];
    for (let at = 0; at < total.length; at += each) {
      let sum = 0,
        count = 0,
        least = Infinity,
        most = -Infinity;
      for (let k = at; k < Math.min(total.length, at + each); k++) {
        if (!Number.isFinite(total[k])) continue;
        sum += total[k];
        count++;
        if (total[k] < least) least = total[k];
        if (total[k] > most) most = total[k];
      }
      mean.push(count ? sum / count : null);
      low.push(count ? least : null);
      high.push(count ? most : null);
    }
    return { each, mean, low, high };
  }

  function findLargest(total) {
    const largest = [];
    let changed = 0,
      bad = 0;
    for (let at = 0; at < total.length; at++) {
      const change = Math.abs(total[at] - first.total[at]);
      if (Number.isNaN(total[at]) && !Number.isNaN(first.total[at])) bad++;
      if (!(change > 0)) continue;
      changed++;
      if (largest.length === LARGEST && change <= largest[LARGEST - 1][1]) continue;
      let place = largest.length;
      while (place > 0 && largest[place - 1][1] < change) place--;
      largest.splice(place, 0, [at, change, first.total[at], total[at]]);
      largest.length = Math.min(largest.length, LARGEST);
    }
    return { largest, changed, bad };
  }

  const sumOf = (values) => {
    let sum = 0;
    for (let at = 0; at < values.length; at++) if (values[at] === values[at]) sum += values[at];
    return sum;
  };

  /** The states of a reward go from step to step, so its episodes are scored in order, one step at a time. */
  function scoreInOrder(knobs) {
    const rows = given.starts.length ? Object.values(given.columns)[0].length : 0;
    const total = new Float64Array(rows),
      values = {};
    const own = new Set(CARRIED.map((state) => `prev.${state.name}`));
    const names = Object.keys(given.columns).filter((name) => !own.has(name.split("[")[0]));
    const starts = new Set(given.starts);
    let state = initialState(),
      reset = true;
    for (let at = 0; at < rows; at++) {
      reset ||= starts.has(at);
      total[at] = NaN;
      if (Number.isNaN(given.recorded[at])) continue; // it left the states as they were
      const row = Object.fromEntries(names.map((name) => [name, readValue(name, given.columns[name][at])]));
      const scored = step(row, state, knobs, { onBad: "mask", reset });
      state = scored.state;
      reset = false;
      total[at] = scored.total;
      for (const [term, value] of Object.entries(scored.values)) (values[term] ??= new Float64Array(rows))[at] = value;
    }
    return { total, values };
  }

  function readValue(name, value) {
    const column = COLUMNS.find((each) => each.name === name || each.slots.some((slot) => slot.name === name));
    return column?.kind === "category" ? column.labels[value] : column?.kind === "flag" ? value === 1 : value;
  }

  function scoreAll(knobs) {
    if (CARRIED.length) return scoreInOrder(knobs);
    out = scoreBatch(given.columns, knobs, out ?? undefined, { onBad: "mask" });
    for (const at of given.masked) for (const column of [out.total, ...Object.values(out.values)]) column[at] = NaN;
    return out;
  }

  function answer(message) {
    if (message.columns) {
      given = message;
      given.masked = [...given.recorded.keys()].filter((at) => Number.isNaN(given.recorded[at]));
      const scored = scoreAll({});
      first = { total: Float64Array.from(scored.total) };
      let different = 0,
        lost = 0;
      for (let at = 0; at < first.total.length; at++) {
        const [now, then] = [first.total[at], given.recorded[at]];
        if (Number.isNaN(now)) lost += !Number.isNaN(then);
        else if (!(Math.abs(now - then) <= 1e-9 * Math.max(1, Math.abs(then)))) different++;
      }
      first.returns = sumEpisodes(first.total);
      first.terms = Object.fromEntries(Object.entries(scored.values).map(([term, values]) => [term, sumOf(values)]));
      return {
        ready: true,
        different,
        lost,
        masked: given.masked.length,
        steps: first.total.length - given.masked.length - lost,
        before: { returns: first.returns, terms: first.terms, curve: reduce(first.total) },
      };
    }
    const scored = scoreAll(message.knobs);
    return {
      turn: message.turn,
      returns: sumEpisodes(scored.total),
      terms: Object.fromEntries(Object.entries(scored.values).map(([term, values]) => [term, sumOf(values)])),
      curve: reduce(scored.total),
      ...findLargest(scored.total),
    };
  }

  self.onmessage = ({ data }) => {
    try {
      self.postMessage(answer(data));
    } catch (error) {
      self.postMessage({ error: String(error.message ?? error), turn: data.turn });
    }
  };
}

/** From a file, browsers start no worker of modules: the module becomes a script, its exports plain names. */
function writeScript(module) {
  const plain = module.replace(/^export \{[^}]*\};?$/gm, "").replace(/^export (?=(?:const|function|class) )/gm, "");
  return `(() => {\n"use strict";\n${plain}\n(${work})();\n})();\n`;
}

/**
 * Start a worker for the module of a reward.
 * @param {string} module the text of the ES module
 * @param {(answer: any) => void} onAnswer
 */
function startWorker(module, onAnswer) {
  const address = URL.createObjectURL(new Blob([writeScript(module)], { type: "text/javascript" }));
  const worker = new Worker(address);
  let busy = false,
    waiting = null;
  const send = (message) => {
    if (busy)
      waiting = message; // of several that wait, the newest counts
    else {
      busy = true;
      worker.postMessage(message);
    }
  };
  worker.onmessage = ({ data }) => {
    URL.revokeObjectURL(address); // it has been read by now
    busy = false;
    const next = waiting;
    waiting = null;
    if (next) send(next);
    onAnswer(data);
  };
  worker.onerror = (event) =>
    onAnswer({ error: event.message || "The JavaScript module of this reward does not run in this browser." });
  return { send, stop: () => worker.terminate() };
}

/** Join the inputs of episodes into columns: numbers, positions of categories, bools as 0 and 1. */
function joinColumns(episodes) {
  const rows = episodes.reduce((sum, each) => sum + each.shown, 0);
  const starts = new Uint32Array(episodes.length),
    recorded = new Float64Array(rows);
  const columns = Object.fromEntries(
    [...new Set(episodes.flatMap((each) => Object.keys(each.inputs)))].map((name) => [
      name,
      new Float64Array(rows).fill(NaN),
    ]),
  );
  let start = 0;
  episodes.forEach((episode, at) => {
    starts[at] = start;
    episode.total.forEach((value, k) => {
      recorded[start + k] = toNumber(value);
    });
    for (const [name, values] of Object.entries(episode.inputs)) {
      const rest = episode.labels?.[name] || (episode.flags ?? []).includes(name) ? 0 : NaN;
      values.forEach((value, k) => {
        columns[name][start + k] = value === null ? rest : toNumber(value);
      });
    }
    start += episode.shown;
  });
  return { columns, starts, recorded };
}

plaudit.rescoring = { startWorker, joinColumns };
