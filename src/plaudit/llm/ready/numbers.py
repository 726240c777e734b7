r"""Whether an answer is a number: the last one of a text, or the one in its `\boxed{}`."""

from typing import Any

from plaudit.llm.feature import Feature
from plaudit.llm.ready.boxes import list_boxed
from plaudit.llm.ready.building import build_feature, check_choice, check_number
from plaudit.llm.ready.numerals import find_last_number, read_box, read_column
from plaudit.llm.ready.tags import check_tag, find_tagged


def last_number(
    answer: str = "answer",
    *,
    relative_tolerance: float = 0.0,
    absolute_tolerance: float = 0.0,
    tag: str | None = None,
    decimal: str = ".",
) -> Feature:
    r"""Say whether the last number of the answer is the one in a column.

    Understood are signs (also −), separators of thousands, 3/4, `\frac{3}{4}`, 1 3/4, 5%, $5, 2e3 and
    `2 \times 10^3`; 5% is 5 or 0.05, whichever the column has. Digits behind letters, as in x2, are part of a name.
    What the model thought before its answer is not looked at. A text without a number is wrong, not an error.

    Args:
        answer: The column with the number, or with a string that is one.
        relative_tolerance: Largest difference that counts as equal, as a share of the number in the column. Numbers are
            compared exactly, however long; of a float in the column, only the first 12 digits count.
        absolute_tolerance: Largest difference that counts as equal; the larger of the two holds.
        tag: Look only at what stands in this tag, such as "answer"; it has to be there exactly once.
        decimal: The decimal mark of the answer, "." or ","; the other one separates thousands.

    Returns:
        A feature of `text` and the column, called "last_number": True or False. It raises InputError for a column that
        is not a number.

    Raises:
        DefinitionError: An argument is invalid.

    >>> right = last_number()
    >>> right("2 * 600 = 1,200 in all.", 1200), right("It is 1,200, not 7.", 1200), right("Many.", 1200)
    (True, False, False)
    """
    settings = {"relative_tolerance": relative_tolerance, "absolute_tolerance": absolute_tolerance}
    return _build(_is_last_number, "last_number", answer, {**settings, "tag": tag, "decimal": decimal})


def boxed_number(
    answer: str = "answer", *, relative_tolerance: float = 0.0, absolute_tolerance: float = 0.0, decimal: str = "."
) -> Feature:
    r"""Say whether the number in `\boxed{}` is the one in a column.

    An answer with several boxes is right only if each of them is, so that trying out many answers does not pay; empty
    boxes and those that are never closed do not count. In a box, a number can have a name (`x = 5`) and a unit
    (`5 km`, `5 \text{ apples}`), but nothing else: `5 \text{ or } 6` and `\sqrt{5}` are not numbers.

    Args:
        answer: The column with the number, or with a string that is one.
        relative_tolerance: Largest difference that counts as equal, as a share of the number in the column. Numbers are
            compared exactly, however long; of a float in the column, only the first 12 digits count.
        absolute_tolerance: Largest difference that counts as equal; the larger of the two holds.
        decimal: The decimal mark of the answer, "." or ","; the other one separates thousands.

    Returns:
        A feature of `text` and the column, called "boxed_number": True or False. It raises InputError for a column that
        is not a number.

    Raises:
        DefinitionError: An argument is invalid.

    >>> right = boxed_number()
    >>> right(r"So it is \boxed{\frac{3}{4}}.", 0.75), right(r"\boxed{1} \boxed{0.75}", 0.75), right("0.75", 0.75)
    (True, False, False)
    """
    settings = {"relative_tolerance": relative_tolerance, "absolute_tolerance": absolute_tolerance}
    return _build(_is_boxed_number, "boxed_number", answer, {**settings, "decimal": decimal})


def _build(function: Any, name: str, answer: str, settings: dict[str, Any]) -> Feature:
    _check(settings["relative_tolerance"], settings["absolute_tolerance"], settings["decimal"])
    if settings.get("tag") is not None:
        check_tag(settings["tag"])
    return build_feature(function, name=name, columns={"answer": answer}, settings=settings)


def _check(relative: Any, absolute: Any, decimal: Any) -> None:
    check_number("relative_tolerance", relative, low=0)
    check_number("absolute_tolerance", absolute, low=0)
    check_choice("decimal", decimal, (".", ","))


def _is_last_number(
    text: str,
    answer: Any,
    *,
    relative_tolerance: float = 0.0,
    absolute_tolerance: float = 0.0,
    tag: str | None = None,
    decimal: str = ".",
) -> bool:
    _check(relative_tolerance, absolute_tolerance, decimal)
    wanted = read_column(answer)
    looked_at = text if tag is None else find_tagged(text, tag)
    number = find_last_number(looked_at or "", decimal)
    return number is not None and number.equals(wanted, relative_tolerance, absolute_tolerance)


def _is_boxed_number(
    text: str,
    answer: Any,
    *,
    relative_tolerance: float = 0.0,
    absolute_tolerance: float = 0.0,
    decimal: str = ".",
) -> bool:
    _check(relative_tolerance, absolute_tolerance, decimal)
    wanted = read_column(answer)
    boxes = set(list_boxed(text))
    return bool(boxes) and all(
        (number := read_box(box, decimal)) is not None and number.equals(wanted, relative_tolerance, absolute_tolerance)
        for box in boxes
    )
