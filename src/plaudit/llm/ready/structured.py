"""Whether an answer is JSON."""

import importlib.util
import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from plaudit.errors import DefinitionError, MissingExtra
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import build_feature
from plaudit.llm.ready.fences import iterate_blocks

Schema = Mapping[str, Any] | bool


def valid_json(schema: Schema | None = None) -> Feature:
    """Say whether the answer is JSON: all of it, or its only block marked as JSON or not marked at all.

    Words around the block are allowed, a second such block is not. NaN and Infinity are not JSON.

    Args:
        schema: A JSON Schema that it has to follow; addresses of other schemas in it are not fetched.

    Returns:
        A feature of `text`, called "valid_json": True or False.

    Raises:
        DefinitionError: The schema is invalid.
        MissingExtra: A schema is given, and jsonschema is not installed.

    >>> valid_json()('{"name": "Ada"}'), valid_json()("name: Ada")
    (True, False)
    >>> named = valid_json({"type": "object", "required": ["name"]})
    >>> named('{"name": "Ada"}'), named("[]")
    (True, False)
    """
    if schema is not None:
        _build_validator(schema, check=True)
    return build_feature(_is_valid, name="valid_json", settings={"schema": schema})


def _is_valid(text: str, *, schema: Schema | None = None) -> bool:
    try:
        found = _read(text)
    except (ValueError, RecursionError):
        blocks = (body for language, body in iterate_blocks(text) if language in ("", "json"))
        try:
            (block,) = islice(blocks, 2)
            found = _read(block)
        except (ValueError, RecursionError):
            return False
    try:
        return schema is None or bool(_build_validator(schema).is_valid(found))
    except RecursionError:  # nested deeper than the schema can be followed
        return False


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, parse_int=_read_integer)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _read_integer(digits: str) -> float:
    return int(digits) if len(digits) < 1000 else float(digits)  # int() refuses very long ones


def _build_validator(schema: Schema, *, check: bool = False) -> Any:
    if importlib.util.find_spec("jsonschema") is None:
        raise MissingExtra("valid_json with a schema needs jsonschema. Install it: pip install 'plaudit[llm]'")
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing.jsonschema import EMPTY_REGISTRY

    if not isinstance(schema, Mapping | bool):
        raise DefinitionError(f"schema={schema!r:.60} is not a JSON Schema, which is a dict.")
    kind = validator_for(schema, default=Draft202012Validator)
    if check:
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise DefinitionError(f"the schema is invalid: {error.message}") from None
    return kind(schema, registry=EMPTY_REGISTRY)
