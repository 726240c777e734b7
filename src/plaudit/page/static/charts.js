// Charts over uPlot: lines, bands, points; a legend that can be clicked; one cursor for charts that belong together.

const { h } = plaudit.dom;
const { number, toNumber } = plaudit.format;
const { read } = plaudit.palette;

/** @type {Set<{element: HTMLElement, destroy: () => void}>} what is on the page now */
const drawn = new Set();

/** Values as uPlot takes them: what is not finite leaves a gap. */
const clean = (values) =>
  Array.from(values, (each) => {
    const x = each === null || each === undefined ? NaN : toNumber(each);
    return Number.isFinite(x) ? x : null;
  });

const countGaps = (values) =>
  values.reduce((sum, each) => sum + (each !== null && each !== undefined && !Number.isFinite(toNumber(each))), 0);

/**
 * Make a chart.
 * @param {Object} spec
 * @param {string} spec.label what it shows, in words, for those who cannot see it
 * @param {number[]} spec.x rising
 * @param {Array<{name: string, values: any[], colour: string, dash?: number[], kind?: "line" | "points" | "none", width?: number,
 *   low?: any[], high?: any[], stepped?: boolean, spans?: boolean, mark?: Node}>} spec.series
 * @param {string} [spec.xTitle]
 * @param {(x: number) => string} [spec.xFormat]
 * @param {string} [spec.xName] what a point is called under the cursor; `xTitle` where it is left out
 * @param {string[]} [spec.xNames] the name of each point; the number where it is left out
 * @param {boolean} [spec.log] a symmetric logarithm, so that numbers below zero are shown too
 * @param {(low: number, high: number) => [number, number]} [spec.range]
 * @param {string[]} [spec.labels] names for 0, 1, 2 … on the axis
 * @param {number} [spec.height]
 * @param {boolean} [spec.legend]
 * @param {boolean} [spec.axes]
 * @param {boolean} [spec.zoom]
 * @param {string} [spec.together] charts of this name share a cursor
 * @param {any} [spec.caption]
 * @param {(plot: any, draw: CanvasRenderingContext2D) => void} [spec.under] draws behind the series
 * @param {(plot: any, draw: CanvasRenderingContext2D) => void} [spec.over] draws before them
 * @param {(at: number) => void} [spec.onPick] clicked
 * @param {(at: number | null) => void} [spec.onHover]
 */
function chart(spec) {
  const holder = h("div.plot", { style: { height: `${spec.height ?? 260}px` } });
  const legend = spec.legend === false ? null : plaudit.makeLegend(spec, (at, on) => plot?.setSeries(at, { show: on }));
  const gaps = spec.series.reduce((sum, each) => sum + countGaps(each.values), 0);
  const caption = [
    spec.caption,
    gaps > 0 && h("span", {}, ` ${plaudit.format.count(gaps, "value is", "values are")} not finite and not drawn.`),
  ];
  const element = h(
    "figure",
    { role: "group", "aria-label": spec.label },
    holder,
    legend?.element,
    caption.some(Boolean) && h("figcaption", {}, caption),
  );
  let plot = null,
    marked = null;
  const marker = h("div.marker", { "aria-hidden": "true" });

  /** An element over the canvas: it moves without drawing anything again. */
  function placeMarker() {
    if (plot === null || marked === null) return;
    if (marker.parentNode !== plot.over) plot.over.append(marker);
    const at = plot.valToPos(marked, "x");
    marker.style.transform = `translateX(${at}px)`;
    marker.hidden = at < 0 || at > plot.over.clientWidth;
  }

  let data = [
    Array.from(spec.x, Number),
    ...spec.series.flatMap((each) => [clean(each.values), ...(each.low ? [clean(each.low), clean(each.high)] : [])]),
  ];
  const build = (width) => {
    const options = makeOptions(spec, legend);
    options.hooks.draw.push(placeMarker);
    plot = new uPlot({ ...options, width, height: spec.height ?? 260 }, data, holder);
    plot.over.setAttribute("aria-hidden", "true");
    if (spec.onPick) listenForPicks(plot, spec.onPick);
  };
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width < 20) return;
    if (plot === null) build(width);
    else if (plot.width !== width) plot.setSize({ width, height: spec.height ?? 260 });
  });
  observer.observe(holder);

  const made = {
    element,
    destroy() {
      observer.disconnect();
      plot?.destroy();
    },
    /** Draw again with other values, in the order of the series. */
    setValues(...values) {
      data = [data[0], ...values];
      plot?.setData(data, true);
    },
    /** Draw again what `under` and `over` draw. */
    redraw: () => plot?.redraw(false),
    /** Put a line across the chart at `x`. */
    mark(x) {
      marked = x;
      placeMarker();
    },
  };
  drawn.add(made);
  return made;
}

/** Forget the charts under `root`, which is about to be emptied. */
function clear(root) {
  for (const each of drawn) {
    if (!root.contains(each.element)) continue;
    each.destroy();
    drawn.delete(each);
  }
}

function makeOptions(spec, legend) {
  const series = [{ label: spec.xTitle ?? "" }];
  const bands = [];
  for (const each of spec.series) {
    series.push(makeSeries(each));
    if (!each.low) continue;
    const edge = { label: "", stroke: "transparent", width: 0, points: { show: false } };
    bands.push({ series: [series.length + 1, series.length], fill: `${each.colour}2e` });
    series.push(edge, edge);
  }
  const follow = (plot) => {
    const at = plot.cursor.idx ?? null;
    legend?.update(at === null ? null : (plot.cursor.idxs[1] ?? at));
    spec.onHover?.(at);
  };
  return {
    series,
    bands,
    legend: { show: false },
    padding: [10, 12, spec.axes === false ? 4 : 0, 4],
    cursor: {
      y: false,
      drag: { x: spec.zoom !== false, y: false },
      points: { size: 7 },
      sync: spec.together ? { key: spec.together, setSeries: false } : undefined,
      dataIdx: spec.series.some((each) => each.kind === "points") ? findNearest : undefined,
    },
    scales: {
      x: { time: false, range: spec.xRange ?? pad },
      y: { distr: spec.log ? 4 : 1, asinh: 1, range: spec.range ? (_, low, high) => spec.range(low, high) : undefined },
    },
    axes: makeAxes(spec),
    hooks: {
      drawAxes: spec.under ? [(plot) => clipped(plot, spec.under)] : [],
      draw: spec.over ? [(plot) => clipped(plot, spec.over)] : [],
      setCursor: [follow],
    },
  };
}

/** A single value still needs a width to stand in. */
function pad(plot, low, high) {
  return low === null || low === undefined ? [0, 1] : low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function makeSeries(each) {
  const points = each.kind === "points";
  return {
    label: each.name,
    stroke: each.colour,
    width: each.width ?? 1.75,
    dash: each.dash,
    paths: points || each.kind === "none" ? () => null : each.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
    points: points
      ? { show: true, size: each.size ?? 6, fill: `${each.colour}99`, width: 1 }
      : { show: false, size: 5, fill: each.colour, filter: each.kind === "none" ? null : findLone },
    spanGaps: each.spans ?? false,
  };
}

/** Values between two gaps, which no line shows; of a line that spans gaps, its only value. */
function findLone(plot, series) {
  const values = plot.data[series];
  const known = [...values.keys()].filter((at) => values[at] !== null);
  if (plot.series[series].spanGaps) return known.length === 1 ? known : [];
  return known.filter((at, k) => known[k - 1] !== at - 1 && known[k + 1] !== at + 1);
}

function makeAxes(spec) {
  const shared = {
    stroke: read("quiet"),
    font: `12px ${read("sans")}`,
    labelFont: `12px ${read("sans")}`,
    ticks: { show: false },
    border: { show: false },
  };
  const grid = { stroke: read("grid"), width: 1 };
  const names = spec.labels;
  const y = {
    ...shared,
    grid,
    gap: 6,
    size: (plot, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((each) => (each ?? "").length)),
    splits: names ? () => names.map((_, at) => at) : undefined,
    values: (plot, splits) =>
      splits.map((each) =>
        each === null ? null : names ? plaudit.format.shorten(names[each] ?? "", 12) : number(each, 4),
      ),
  };
  if (spec.axes === false) return [{ show: false }, { show: false }];
  const x = {
    ...shared,
    grid: { show: false },
    gap: 4,
    size: spec.xTitle ? 26 : 28,
    label: spec.xTitle,
    labelSize: spec.xTitle ? 18 : 0,
    space: 64,
  };
  return [
    { ...x, values: (plot, splits) => splits.map((each) => (spec.xFormat ? spec.xFormat(each) : number(each, 4))) },
    y,
  ];
}

function clipped(plot, draw) {
  const { left, top, width, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.beginPath();
  plot.ctx.rect(left, top, width, height);
  plot.ctx.clip();
  draw(plot, plot.ctx);
  plot.ctx.restore();
}

/** The point that is nearest to the cursor, both ways. */
function findNearest(plot, series, hovered) {
  const { left, top } = plot.cursor;
  const [x, y] = [plot.data[0], plot.data[series]];
  let best = null,
    least = 30 * 30;
  for (const step of [-1, 1]) {
    for (let at = hovered + (step > 0 ? 1 : 0); at >= 0 && at < x.length; at += step) {
      const across = plot.valToPos(x[at], "x") - left;
      if (across * across > least) break;
      if (y[at] === null) continue;
      const distance = across * across + (plot.valToPos(y[at], "y") - top) ** 2;
      if (distance < least) [best, least] = [at, distance];
    }
  }
  return best;
}

function listenForPicks(plot, onPick) {
  let from = null;
  plot.over.addEventListener("mousedown", (event) => {
    from = event.clientX;
  });
  plot.over.addEventListener("click", (event) => {
    const at = plot.cursor.idxs[1] ?? plot.cursor.idx;
    if (at !== null && at !== undefined && from !== null && Math.abs(event.clientX - from) < 4) onPick(at);
  });
}

/** A line across a chart, from one edge to the other: `x` or `y` says where. */
function drawLine(plot, draw, { x, y, colour, dash = [] }) {
  const { left, top, width, height } = plot.bbox;
  const at = Math.round(x === undefined ? plot.valToPos(y, "y", true) : plot.valToPos(x, "x", true)) + 0.5;
  draw.save();
  draw.strokeStyle = colour;
  draw.lineWidth = devicePixelRatio;
  draw.setLineDash(dash.map((each) => each * devicePixelRatio));
  draw.beginPath();
  draw.moveTo(x === undefined ? left : at, x === undefined ? at : top);
  draw.lineTo(x === undefined ? left + width : at, x === undefined ? at : top + height);
  draw.stroke();
  draw.restore();
}

/** A dashed line where both axes have the same number. */
function drawDiagonal(plot, draw) {
  const { min, max } = plot.scales.x;
  draw.strokeStyle = read("quiet");
  draw.setLineDash([4, 4]);
  draw.beginPath();
  draw.moveTo(plot.valToPos(min, "x", true), plot.valToPos(min, "y", true));
  draw.lineTo(plot.valToPos(max, "x", true), plot.valToPos(max, "y", true));
  draw.stroke();
}

/** Small bars that say where a pair of bounds lies on a common scale. */
function boundsBar([low, high], [from, to], colour = null) {
  const span = to - from || 1;
  const place = (value) => `${(100 * (Math.min(to, Math.max(from, toNumber(value))) - from)) / span}%`;
  const [start, end] = [place(low), place(high)].map(parseFloat);
  return h(
    "div.track",
    { role: "img", "aria-label": `from ${number(low)} to ${number(high)}` },
    (toNumber(low) !== 0 || toNumber(high) !== 0) &&
      h("i", {
        style: { left: `${start}%`, width: `max(3px, ${end - start}%)`, ...(colour ? { "--swatch": colour } : {}) },
      }),
    from < 0 && to > 0 && h("u", { style: { left: place(0) } }),
  );
}

plaudit.charts = { chart, clear, clean, drawLine, drawDiagonal, boundsBar };
