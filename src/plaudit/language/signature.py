"""Which signatures a term or helper may have."""

from plaudit.language.source import Source


def check_signature(source: Source) -> None:
    """Refuse signatures that are not plain data followed by keyword-only knobs."""
    arguments = source.tree.args
    if arguments.vararg or arguments.kwarg:
        raise source.error(
            arguments.vararg or arguments.kwarg or source.tree,
            "`*args` and `**kwargs` cannot be read.",
            "Name each field.",
        )
    if arguments.posonlyargs:
        raise source.error(arguments.posonlyargs[0], "positional-only parameters cannot be read.", "Drop the `/`.")
    if arguments.defaults:
        raise source.error(
            arguments.defaults[0],
            "a positional parameter is data and has no default.",
            "Make it a knob: put `*,` before it. Or give the field a `missing=` value.",
        )
