// Formulas (MathML) and pictures (SVG) come as markup. It is parsed apart from the page, and only what is listed here is copied.

const NAMESPACES = { math: "http://www.w3.org/1998/Math/MathML", svg: "http://www.w3.org/2000/svg" };

// prettier-ignore
const ELEMENTS = {
  math: [
    "math", "mrow", "mi", "mo", "mn", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "mover",
    "munder", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
  ],
  svg: [
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc",
  ],
};

// prettier-ignore
const ATTRIBUTES = {
  math: [
    "display", "mathvariant", "stretchy", "fence", "separator", "lspace", "rspace", "columnalign", "rowspacing", "columnspacing",
    "displaystyle", "scriptlevel", "width", "height", "depth", "form", "largeop", "movablelimits", "accent", "linethickness",
    "intent", "arg",
  ],
  svg: [
    "viewBox", "width", "height", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "d", "points", "transform",
    "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "dominant-baseline", "dx", "dy",
    "rotate", "preserveAspectRatio", "role", "aria-label",
  ],
};

/**
 * Return the markup as an element of this page, with nothing in it that could run, load or link; null where it is neither.
 * @param {string} markup
 * @param {"math" | "svg"} kind
 * @returns {Element | null}
 */
function sanitise(markup, kind) {
  if (!markup) return null;
  // What the policy of the page forbids would be reported while it is parsed; nothing of it is copied anyway.
  const harmless = markup.replace(/\s(style|on\w+)(?=\s*=)/gi, " data-$1").replace(/(<\/?)style\b/gi, "$1dropped");
  const parsed = new DOMParser().parseFromString(
    harmless,
    kind === "svg" ? "image/svg+xml" : "text/xml",
  ).documentElement;
  if (parsed.localName !== kind || parsed.querySelector("parsererror")) return null;
  return copy(parsed, kind, 0);
}

const DEEPEST = 200;

function copy(element, kind, depth) {
  if (!ELEMENTS[kind].includes(element.localName) || depth > DEEPEST) return null;
  const made = document.createElementNS(NAMESPACES[kind], element.localName);
  for (const { name, value } of element.attributes) {
    // url(…) and script could only hide in a value that refers elsewhere; a backslash could spell them.
    if (ATTRIBUTES[kind].includes(name) && !/url\s*\(|:\s*\/\/|script:|\\/i.test(value)) made.setAttribute(name, value);
  }
  const side = /^\s*text-align:\s*(left|right|center)\s*;?\s*$/.exec(element.getAttribute("data-style") ?? "");
  if (kind === "math" && side) made.style.textAlign = side[1]; // columns of cases
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.CDATA_SECTION_NODE) made.append(child.data);
    const part = child.nodeType === Node.ELEMENT_NODE ? copy(child, kind, depth + 1) : null;
    if (part) made.append(part);
  }
  return made;
}

plaudit.sanitise = sanitise;
