// Terms piled up: those that pay above zero, those that cost below.

const { toNumber } = plaudit.format;
const { read } = plaudit.palette;

/**
 * Return how high the piles go and how to draw them; what is hidden is left out.
 * @param {Array<{name: string, values: any[], colour: string, dash?: number[]}>} series
 * @param {"areas" | "bars"} shape
 */
function pile(series, shape) {
  const layers = series.map((each) => ({
    ...each,
    values: Float64Array.from(each.values, (value) => toNumber(value ?? 0) || 0),
  }));
  const hidden = new Set();
  const range = () => {
    let low = 0,
      high = 0;
    const rows = layers[0]?.values.length ?? 0;
    for (let at = 0; at < rows; at++) {
      let up = 0,
        down = 0;
      for (const layer of layers) {
        if (hidden.has(layer.name)) continue;
        const value = layer.values[at];
        if (value > 0) up += value;
        else down += value;
      }
      if (Number.isFinite(up)) high = Math.max(high, up);
      if (Number.isFinite(down)) low = Math.min(low, down);
    }
    const room = 0.06 * (high - low || 1);
    return [low < 0 ? low - room : -room / 2, high > 0 ? high + room : room / 2];
  };
  const shown = () => layers.filter((layer) => !hidden.has(layer.name));
  return {
    range,
    draw: (plot, draw) => (shape === "bars" ? drawBars : drawAreas)(plot, draw, shown()),
    toggle: (name, on) => (on ? hidden.delete(name) : hidden.add(name)),
  };
}

function drawAreas(plot, draw, layers) {
  const x = plot.data[0];
  const [from, to] = visible(plot, x);
  for (const sign of [1, -1]) {
    const base = new Float64Array(x.length);
    for (const layer of layers) {
      draw.beginPath();
      for (let at = from; at <= to; at++)
        draw.lineTo(plot.valToPos(x[at], "x", true), plot.valToPos(base[at] + part(layer, at, sign), "y", true));
      for (let at = to; at >= from; at--)
        draw.lineTo(plot.valToPos(x[at], "x", true), plot.valToPos(base[at], "y", true));
      draw.fillStyle = paint(draw, layer);
      draw.fill();
      for (let at = from; at <= to; at++) base[at] += part(layer, at, sign);
    }
  }
}

const part = (layer, at, sign) => (layer.values[at] * sign > 0 ? layer.values[at] : 0);

const THINNEST = 1.5;

/** A short line across each bar, at what it adds up to; bars that are too thin have none. */
function drawLevels(plot, draw, values, colour) {
  const x = plot.data[0];
  const [from, to] = visible(plot, x);
  const half = Math.abs(plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true)) / 2;
  if (half < THINNEST * devicePixelRatio) return;
  draw.fillStyle = colour;
  for (let at = from; at <= to; at++) {
    if (values[at] === null) continue;
    draw.fillRect(
      plot.valToPos(x[at], "x", true) - half,
      plot.valToPos(toNumber(values[at]), "y", true) - devicePixelRatio,
      2 * half,
      2 * devicePixelRatio,
    );
  }
}

/** Where several steps share a pixel, the highest pile and the deepest are drawn: no peak is lost. */
function drawBars(plot, draw, layers) {
  const x = plot.data[0];
  const [from, to] = visible(plot, x);
  const zero = plot.valToPos(0, "y", true);
  const between = Math.abs(plot.valToPos(x[from] + 1, "x", true) - plot.valToPos(x[from], "x", true));
  const wide = Math.max(1, between - Math.min(2, between / 4));
  for (const sign of [1, -1]) {
    for (const [at, place] of choosePeaks(plot, x, layers, from, to, sign, between)) {
      let level = 0;
      for (const layer of layers) {
        const value = part(layer, at, sign);
        if (value === 0) continue;
        const [a, b] = [level, level + value].map((each) => plot.valToPos(each, "y", true));
        draw.fillStyle = paint(draw, layer);
        draw.fillRect(
          place - wide / 2,
          Math.min(a, b),
          wide,
          Math.max(Math.abs(a - b), Math.abs(a - zero) < 0.5 ? 1 : 0.5),
        );
        level += value;
      }
    }
  }
}

function* choosePeaks(plot, x, layers, from, to, sign, between) {
  let best = -1,
    most = -1,
    pixel = null;
  for (let at = from; at <= to; at++) {
    const place = plot.valToPos(x[at], "x", true);
    if (between >= 1) {
      yield [at, place];
      continue;
    }
    if (pixel !== null && Math.floor(place) !== pixel) {
      yield [best, pixel];
      most = -1;
    }
    pixel = Math.floor(place);
    const size = layers.reduce((sum, layer) => sum + Math.abs(part(layer, at, sign)), 0);
    if (size > most) [best, most] = [at, size];
  }
  if (between < 1 && best >= 0) yield [best, pixel];
}

function visible(plot, x) {
  const { min, max } = plot.scales.x;
  let from = 0,
    to = x.length - 1;
  while (from < to && x[from + 1] < min) from++;
  while (to > from && x[to - 1] > max) to--;
  return [from, to];
}

/** Terms beyond the eighth, whose colours come again, are striped. */
function paint(draw, layer) {
  if (!layer.dash) return layer.colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.fillStyle = `${layer.colour}55`;
  brush.fillRect(0, 0, 6, 6);
  brush.strokeStyle = layer.colour;
  brush.lineWidth = 2;
  brush.beginPath();
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  return draw.createPattern(tile, "repeat");
}

/** A chart of terms piled up; hiding one in the legend takes it off the pile. */
function drawPile(spec, shape) {
  const piled = pile(
    spec.series.filter((each) => each.kind === "none"),
    shape,
  );
  const made = plaudit.charts.chart({
    ...spec,
    range: spec.range ?? piled.range,
    under: (plot, draw) => {
      piled.draw(plot, draw);
      plaudit.charts.drawLine(plot, draw, { y: 0, colour: read("quiet") });
      spec.under?.(plot, draw);
    },
    onToggle: (name, on) => piled.toggle(name, on),
  });
  return made.element;
}

plaudit.stacks = { pile, drawPile, drawLevels };
