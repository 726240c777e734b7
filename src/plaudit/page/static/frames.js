// The environment at the selected step, as the reward's system draws it; it arrives after the episode is shown.

const { h, replace } = plaudit.dom;
const { joinAddress } = plaudit.format;

/**
 * Make the place of the pictures of an episode.
 * @returns {{element: HTMLElement, show: (at: number) => void, glance: (at: number | null) => void}} `show` the picture of a step;
 *   `glance` at that of another one, until it is null
 */
function makeFrames(page, episode) {
  const picture = h("div", {}),
    notes = h("div", {});
  const element = h("div", {}, picture, notes);
  let frames = [],
    looked = 0,
    glanced = null;

  const draw = () => {
    const at = glanced ?? looked;
    const made = plaudit.sanitise(frames[at] ?? "", "svg");
    if (made) label(made);
    const named = at !== looked && h("figcaption", {}, `step ${episode.steps[at] ?? at}`);
    replace(
      picture,
      frames.length > 0 && h("figure.frame", {}, made ?? h("p.quiet", {}, "No picture of this step."), named),
    );
  };
  const fill = (found) => {
    frames = found.frames;
    replace(
      notes,
      found.remarks.map((each) => h("p.note", {}, each)),
    );
    draw();
  };

  const address = joinAddress("frames", ...page.parts);
  if (episode.frames && plaudit.store.has(address))
    page
      .get(address)
      .then(fill)
      .catch((error) => replace(notes, h("p.note", {}, error.message)));
  else if (episode.frames)
    replace(
      notes,
      h(
        "p.note",
        {},
        "This report does not contain the pictures of this episode. Use a larger --max-size to include more, or plaudit dashboard to see all.",
      ),
    );
  return {
    element,
    show(at) {
      [looked, glanced] = [at, null];
      draw();
    },
    glance(at) {
      if (at === glanced) return;
      glanced = at;
      draw();
    },
  };
}

/** A picture is read out by its title. */
function label(picture) {
  picture.setAttribute("role", "img");
  picture.setAttribute(
    "aria-label",
    picture.querySelector(":scope > title")?.textContent.trim() || "The environment at this step",
  );
}

plaudit.frames = { makeFrames };
