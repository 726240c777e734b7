"""Pillow, and its own typeface in the sizes that pictures use."""

from functools import cache, lru_cache

from plaudit.errors import MissingExtra

try:
    from PIL import Image, ImageDraw, ImageFont
except ModuleNotFoundError as error:
    raise MissingExtra(f"pictures need {error.name}. Install it: pip install 'plaudit[sumo]'") from None

__all__ = ["Image", "Pen", "make_pen", "measure_width", "write_text"]

Pen = ImageDraw.ImageDraw


def make_pen(picture: Image.Image) -> Pen:
    """Return what draws on a picture."""
    return ImageDraw.Draw(picture)


def write_text(draw: Pen, at: tuple[float, float], text: str, *, size: int, color: str, anchor: str = "ls") -> None:
    """Write a line of text; `anchor` says which of its points lies at `at`, as Pillow names them."""
    mask, left, top = _render_text(text, size, anchor)
    draw.bitmap((round(at[0]) + left, round(at[1]) + top), mask, fill=color)


def measure_width(text: str, *, size: int) -> float:
    """Return how many pixels wide a text is."""
    whole, raised = _split_superscript(text)
    return float(_load_font(size).getlength(whole) + _load_font(_shrink(size)).getlength(raised))


@lru_cache(maxsize=2048)
def _render_text(text: str, size: int, anchor: str) -> tuple[Image.Image, int, int]:
    """Return a text as a mask, and where its corner lies from the anchor: most texts come again in the next step."""
    whole, raised = _split_superscript(text)
    pad, height = 2, 2 * size
    mask = Image.new("L", (int(measure_width(text, size=size)) + 2 * pad + 2, height))
    draw = make_pen(mask)
    draw.text((pad, size + pad), whole, fill=255, font=_load_font(size), anchor="ls")
    if raised:  # the typeface has no superscript
        left = pad + _load_font(size).getlength(whole)
        draw.text((left, size + pad - 0.4 * size), raised, fill=255, font=_load_font(_shrink(size)), anchor="ls")
    across = {"l": 0.0, "m": 0.5, "r": 1.0}[anchor[0]] * measure_width(text, size=size)
    down = {"s": 0.0, "m": -0.36 * size}[anchor[1]]  # half the height of a capital
    return mask, round(-pad - across), round(-size - pad - down)


def _split_superscript(text: str) -> tuple[str, str]:
    """Return a text in the signs that the typeface has, and the 2 to be raised at its end."""
    raised = "2" if text.endswith("²") else ""
    plain = text.removesuffix("²").replace("−", "-")
    return plain.encode("ascii", "replace").decode("ascii"), raised


def _shrink(size: int) -> int:
    return round(0.7 * size)


@cache
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
