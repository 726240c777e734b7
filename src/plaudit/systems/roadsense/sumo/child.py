"""The other end of `process`: a Python that does nothing but hold libsumo and answer over its standard streams.

It is run as `python -m plaudit.systems.roadsense.sumo.child` and ends with the process that started it.
"""

import os
from typing import Any

from plaudit.errors import PlauditError
from plaudit.systems.roadsense.sumo.engine import Engine
from plaudit.systems.roadsense.sumo.plan import Plan, Start
from plaudit.systems.roadsense.sumo.wire import receive, send

Answer = tuple[str | None, Any]
"""The name of an error and its text, or None and the value."""


def main() -> None:
    """Answer until the other end closes the pipe, or is gone."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever SUMO prints must not get between the answers
    try:
        engine = Engine(tuple)
    except PlauditError as error:
        receive(0)
        return send(answers, _refusal(error))
    while True:
        try:
            request = receive(0)
        except EOFError:
            return engine.close()
        try:
            send(answers, answer(engine, request))
        except BrokenPipeError:
            return engine.close()


def answer(engine: Engine[tuple[Any, ...]], request: Any) -> Answer:
    """Return the answer to a list of commands, or to a plan."""
    try:
        if isinstance(request, list):
            return None, engine.step(request)
        path, seed, edges, starts, model = request
        engine.begin(Plan(path, seed, edges, tuple(Start(*start) for start in starts), model))
        return None, None
    except PlauditError as error:
        return _refusal(error)


def _refusal(error: PlauditError) -> Answer:
    return type(error).__name__, str(error)


if __name__ == "__main__":
    main()
