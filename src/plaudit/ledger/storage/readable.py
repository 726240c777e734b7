"""The view `readable`: every record with its numbers spelled out, for people who have only an SQL shell.

Neither SQLite nor PostgreSQL turns eight bytes into a float64, so the view computes it from sign, exponent and
mantissa, with the powers of two from the table `powers`.
"""


def _from_digits(digits: str) -> str:
    """Return the SQLite expression for the float64 whose bytes, written in hexadecimal, are `digits`."""

    def digit(at: int) -> str:
        return f"instr('123456789ABCDEF', substr({digits}, {at}, 1))"

    exponent = f"({digit(15)} % 8 * 256 + {digit(16)} * 16 + {digit(13)})"
    pairs = [f"({digit(2 * k + 1)} * 16 + {digit(2 * k + 2)}) * {1 << 8 * k}" for k in range(6)]
    return _number(exponent, f"({digit(14)} * {1 << 48} + {' + '.join(pairs)})", f"{digit(15)} >= 8")


def _from_bytes(value: str) -> str:
    """Return the PostgreSQL expression for the float64 with the bytes `value`."""

    def byte(at: int) -> str:
        return f"get_byte({value}, {at})::bigint"

    exponent = f"({byte(7)} % 128 * 16 + {byte(6)} / 16)"
    rest = " + ".join(f"{byte(k)} * {1 << 8 * k}" for k in range(6))
    return _number(exponent, f"({byte(6)} % 16 * {1 << 48} + {rest})", f"{byte(7)} >= 128")


def _number(exponent: str, mantissa: str, negative: str) -> str:
    """Return IEEE 754's reading of the parts; an infinity has no power and comes out as NULL."""
    power = f"(SELECT value FROM powers WHERE exponent = {exponent})"
    hidden = f"CASE WHEN {exponent} > 0 THEN {1 << 52} ELSE 0 END"
    sign = f"CAST(CASE WHEN {negative} THEN -1 ELSE 1 END AS DOUBLE PRECISION)"
    return f"({sign} * ({mantissa} + {hidden}) * {power})"


def _exactly(number: str, digits: str) -> str:
    """Return the SQLite expression for a number as JSON: as few digits as give it back, where 15 are too few."""
    texts = [f"printf('%!.{count}g', {number})" for count in (15, 17, 20)]
    zero = f"WHEN {number} = 0 THEN CASE WHEN instr('89ABCDEF', substr({digits}, 15, 1)) THEN '-0.0' ELSE '0.0' END"
    tried = " ".join(f"WHEN CAST({text} AS REAL) = {number} THEN {text}" for text in texts[:2])
    return f"json(CASE {zero} {tried} ELSE {texts[2]} END)"


_MOMENT = "(b.earliest + coalesce(b.times ->> ('$[' || n.key || ']'), 0))"
_FRACTION = f"(({_MOMENT} % 1000000 + 1000000) % 1000000)"  # never negative, also before 1970
_INFINITE = "CASE substr(digits, 15, 2) WHEN '7F' THEN 'inf' ELSE '-inf' END"
_PG_CONTEXTS = r"replace(b.contexts, '\u0000', '\u2400')::json"  # PostgreSQL cannot show a NUL: ␀ stands for it
_PG_MOMENT = "(b.earliest + coalesce((b.times::json ->> n.key::int)::bigint, 0))"

SQLITE = f"""
CREATE VIEW readable AS
SELECT
    b.first + n.key AS id,
    strftime('%Y-%m-%dT%H:%M:%S', ({_MOMENT} - {_FRACTION}) / 1000000, 'unixepoch')
        || printf('.%06dZ', {_FRACTION}) AS at,
    s.name AS reward, s.version, c.run,
    b.episodes ->> ('$[' || CASE json_array_length(b.episodes) WHEN 1 THEN 0 ELSE n.key END || ']') AS episode,
    b.steps ->> ('$[' || CASE json_array_length(b.steps) WHEN 1 THEN 0 ELSE n.key END || ']') AS step,
    c.phase, c.decision_class, c.actor,
    b.keys ->> ('$[' || n.key || ']') AS key,
    b.contexts -> ('$[' || CASE json_array_length(b.contexts) WHEN 1 THEN 0 ELSE n.key END || ']') AS context,
    (SELECT {_from_digits("digits")} FROM (
        SELECT hex(substr(b.outputs, n.key * json_array_length(s.outputs) * 8 + 1, 8)) AS digits
    )) AS total,
    (SELECT json_group_object(i.name, CASE i.kind
        WHEN 'flag' THEN json(CASE WHEN i.number = 1 THEN 'true' ELSE 'false' END)
        WHEN 'category' THEN i.labels ->> ('$[' || CAST(i.number AS INTEGER) || ']')
        ELSE CASE WHEN i.number IS NULL THEN {_INFINITE} ELSE {_exactly("i.number", "i.digits")} END END)
     FROM (
        SELECT name, kind, labels, digits, {_from_digits("digits")} AS number FROM (
            SELECT e.value ->> 'name' AS name, e.value ->> 'kind' AS kind, e.value -> 'labels' AS labels,
                hex(substr(b.inputs, (n.key * json_array_length(s.inputs) + e.key) * 8 + 1, 8)) AS digits
            FROM json_each(s.inputs) AS e
        )
     ) AS i) AS inputs,
    (SELECT json_group_object(o.name, {_exactly("o.number", "o.digits")})
     FROM (
        SELECT name, digits, {_from_digits("digits")} AS number FROM (
            SELECT e.value AS name,
                hex(substr(b.outputs, (n.key * json_array_length(s.outputs) + e.key) * 8 + 1, 8)) AS digits
            FROM json_each(s.outputs) AS e WHERE e.key > 0
        )
     ) AS o) AS terms,
    b.origin IS NOT NULL AS rescored
FROM blocks AS b
JOIN specs AS s ON s.id = b.spec
JOIN scopes AS c ON c.id = b.scope
JOIN json_each('[' || substr(replace(hex(zeroblob(b.records)), '00', ',0'), 2) || ']') AS n
"""

POSTGRESQL = f"""
CREATE VIEW readable AS
SELECT
    b.first + n.key AS id,
    to_timestamp(0) + {_PG_MOMENT} / 1000000 * interval '1 second'
        + {_PG_MOMENT} % 1000000 * interval '1 microsecond' AS at,
    s.name AS reward, s.version, c.run,
    b.episodes::json ->> CASE json_array_length(b.episodes::json) WHEN 1 THEN 0 ELSE n.key::int END AS episode,
    (b.steps::json ->> CASE json_array_length(b.steps::json) WHEN 1 THEN 0 ELSE n.key::int END)::bigint AS step,
    c.phase, c.decision_class, c.actor,
    b.keys::json ->> n.key::int AS key,
    {_PG_CONTEXTS} -> CASE json_array_length({_PG_CONTEXTS}) WHEN 1 THEN 0 ELSE n.key::int END AS context,
    (SELECT {_from_bytes("o.bytes")} FROM (
        SELECT substr(b.outputs, (n.key * json_array_length(s.outputs::json) * 8 + 1)::int, 8) AS bytes
    ) AS o) AS total,
    (SELECT json_object_agg(i.name, CASE i.kind
        WHEN 'flag' THEN to_json(i.number = 1)
        WHEN 'category' THEN i.labels -> i.number::int
        ELSE coalesce(to_json(i.number), to_json(CASE get_byte(i.bytes, 7) WHEN 127 THEN 'inf' ELSE '-inf' END)) END)
     FROM (
        SELECT x.name, x.kind, x.labels, x.bytes, {_from_bytes("x.bytes")} AS number FROM (
            SELECT e.value ->> 'name' AS name, e.value ->> 'kind' AS kind, e.value -> 'labels' AS labels,
                substr(b.inputs, ((n.key * json_array_length(s.inputs::json) + e.at - 1) * 8 + 1)::int, 8) AS bytes
            FROM json_array_elements(s.inputs::json) WITH ORDINALITY AS e(value, at)
        ) AS x
     ) AS i) AS inputs,
    (SELECT json_object_agg(o.name, {_from_bytes("o.bytes")})
     FROM (
        SELECT e.value AS name,
            substr(b.outputs, ((n.key * json_array_length(s.outputs::json) + e.at - 1) * 8 + 1)::int, 8) AS bytes
        FROM json_array_elements_text(s.outputs::json) WITH ORDINALITY AS e(value, at) WHERE e.at > 1
     ) AS o) AS terms,
    b.origin IS NOT NULL AS rescored
FROM blocks AS b
JOIN specs AS s ON s.id = b.spec
JOIN scopes AS c ON c.id = b.scope
CROSS JOIN LATERAL generate_series(0, b.records - 1) AS n(key)
"""
