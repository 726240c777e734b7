// Terms piled up, those that pay above zero and those that cost below; and maps of a term over two inputs.

const { h } = plaudit.dom;
const { number, toNumber, extent } = plaudit.format;
const { read, mix } = plaudit.palette;

/**
 * Return how high the piles go and how to draw them; what is hidden is left out.
 * @param {Array<{name: string, values: any[], colour: string, dash?: number[]}>} series
 * @param {"areas" | "bars"} shape
 */
function pile(series, shape) {
  const layers = series.map((each) => ({ ...each, values: Float64Array.from(each.values, (value) => toNumber(value ?? 0) || 0) }));
  const hidden = new Set();
  const range = () => {
    let low = 0, high = 0;
    const rows = layers[0]?.values.length ?? 0;
    for (let at = 0; at < rows; at++) {
      let up = 0, down = 0;
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
      for (let at = from; at <= to; at++) draw.lineTo(plot.valToPos(x[at], "x", true), plot.valToPos(base[at] + part(layer, at, sign), "y", true));
      for (let at = to; at >= from; at--) draw.lineTo(plot.valToPos(x[at], "x", true), plot.valToPos(base[at], "y", true));
      draw.fillStyle = paint(draw, layer);
      draw.fill();
      for (let at = from; at <= to; at++) base[at] += part(layer, at, sign);
    }
  }
}

const part = (layer, at, sign) => (layer.values[at] * sign > 0 ? layer.values[at] : 0);

/** A short line across each bar, at what it adds up to. */
function drawLevels(plot, draw, values, colour) {
  const x = plot.data[0];
  const [from, to] = visible(plot, x);
  const half = Math.abs(plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true)) / 2;
  draw.fillStyle = colour;
  for (let at = from; at <= to; at++) {
    if (values[at] === null) continue;
    draw.fillRect(plot.valToPos(x[at], "x", true) - half, plot.valToPos(toNumber(values[at]), "y", true) - devicePixelRatio, 2 * half, 2 * devicePixelRatio);
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
        draw.fillRect(place - wide / 2, Math.min(a, b), wide, Math.max(Math.abs(a - b), Math.abs(a - zero) < 0.5 ? 1 : 0.5));
        level += value;
      }
    }
  }
}

function* choosePeaks(plot, x, layers, from, to, sign, between) {
  let best = -1, most = -1, pixel = null;
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
  let from = 0, to = x.length - 1;
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

/**
 * A map of a number over two inputs: what pays in blue, what costs in vermilion, nothing in the colour of the page.
 * @param {{label: string, x: number[], y: number[], z: any[][], xTitle: string, yTitle: string, marks?: Array<{x: number, y: number}>}} spec
 */
function heatMap(spec) {
  const values = spec.z.map((row) => row.map(toNumber));
  const [low, high] = extent(values.flat());
  const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
  const shade = (value) => (Number.isFinite(value) ? mix(read("surface"), read(value < 0 ? "term-3" : "term-0"), Math.sqrt(Math.abs(value) / most)) : read("sunken"));
  const value = h("output", {});
  /** Half a cell more on either side, so that the first and the last are as wide as the others. */
  const edges = (list) => (list.length < 2 ? [list[0] - 0.5, list[0] + 0.5] : [list[0] - (list[1] - list[0]) / 2, list.at(-1) + (list.at(-1) - list.at(-2)) / 2]);
  const fillCells = (plot, draw) => {
    const across = cells(spec.x, (each) => plot.valToPos(each, "x", true));
    const down = cells(spec.y, (each) => plot.valToPos(each, "y", true));
    values.forEach((row, j) => row.forEach((each, i) => {
      draw.fillStyle = shade(each);
      draw.fillRect(across[i][0], down[j][1], across[i][1] - across[i][0] + 1, down[j][0] - down[j][1] + 1);
    }));
  };
  const drawMarks = (plot, draw) => {
    for (const mark of spec.marks ?? []) drawDiamond(draw, plot.valToPos(mark.x, "x", true), plot.valToPos(mark.y, "y", true));
  };
  const made = plaudit.charts.chart({
    ...spec,
    series: [{ name: spec.yTitle, values: spec.x.map((_, at) => (at ? spec.y.at(-1) : spec.y[0])), colour: "transparent", kind: "none" }],
    range: () => edges(spec.y),
    xRange: () => edges(spec.x),
    legend: false,
    zoom: false,
    under: fillCells,
    over: drawMarks,
    caption: [`${spec.yTitle} upwards. From ${number(low)} (vermilion where it costs) to ${number(high)} (blue where it pays). `, value],
  });
  made.element.addEventListener("mousemove", (event) => {
    const over = made.element.querySelector(".u-over")?.getBoundingClientRect();
    if (!over) return;
    const i = Math.floor(((event.clientX - over.left) / over.width) * spec.x.length), j = Math.floor((1 - (event.clientY - over.top) / over.height) * spec.y.length);
    const found = values[j]?.[i];
    value.textContent = found === undefined ? "" : `${spec.xTitle} ${number(spec.x[i])}, ${spec.yTitle} ${number(spec.y[j])}: ${number(found)}`;
  });
  return made;
}

/** Each value's cell: from half way to the one before it to half way to the next. */
function cells(list, place) {
  const half = (at) => (list.length < 2 ? 0.5 : Math.abs(list[at + 1 < list.length ? at + 1 : at] - list[at + 1 < list.length ? at : at - 1]) / 2);
  return list.map((each, at) => [place(each - half(Math.max(0, at - 1))), place(each + half(at))]);
}

function drawDiamond(draw, x, y) {
  const size = 6 * devicePixelRatio;
  draw.beginPath();
  draw.moveTo(x, y - size);
  draw.lineTo(x + size, y);
  draw.lineTo(x, y + size);
  draw.lineTo(x - size, y);
  draw.closePath();
  draw.fillStyle = read("bad");
  draw.strokeStyle = read("surface");
  draw.lineWidth = 2 * devicePixelRatio;
  draw.stroke();
  draw.fill();
}

plaudit.stacks = { pile, heatMap, drawDiamond, drawLevels };
