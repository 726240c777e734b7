// Colours by name and by place: a term has the colour of its position in the reward, everywhere.

const { h } = plaudit.dom;

const TERMS = 8;
const styles = getComputedStyle(document.documentElement);

/** A colour of style.css as text that a canvas takes, light or dark as it is now. */
const read = (name) => styles.getPropertyValue(`--${name}`).trim();

/** The colour of the term at this position. */
const colour = (at) => read(`term-${at % TERMS}`);

/** Terms beyond the eighth have the colours again, dashed. */
const dash = (at) => (at >= TERMS ? [6, 4] : undefined);

/** A patch of a term's colour, to stand before its name. */
function swatch(at) {
  return h(at >= TERMS ? "span.swatch.second" : "span.swatch", {
    "aria-hidden": "true",
    style: { "--swatch": `var(--term-${at % TERMS})` },
  });
}

/** A name with its colour before it. */
const named = (at, name) => h("span.named", {}, swatch(at), h("span", {}, plaudit.format.shorten(name, 80)));

/** Where each term and adjustment of a reward stands; others come after them, in the order they are asked for. */
function makePositions(reward) {
  const known = new Map();
  const place = (name) => (known.has(name) ? known.get(name) : known.set(name, known.size).get(name));
  for (const term of reward?.terms ?? []) place(term.name);
  for (const adjustment of reward?.adjustments ?? []) place(adjustment.name);
  return place;
}

/** A colour between two, both as `#rrggbb`. */
function mix(from, to, share) {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((each) => parseInt(each.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * share)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

plaudit.palette = { read, colour, dash, swatch, named, makePositions, mix };
