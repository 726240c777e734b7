"""The program that tests a header: golden rows in a table, and a loop that answers `plaudit parity`."""

import math
from collections.abc import Sequence

from plaudit.errors import NotFinite, OutOfRange, OutsideDomain, TargetError, UnknownCategory
from plaudit.targets.c.reward import CReward
from plaudit.targets.c.writing import format_comment, format_number, format_string
from plaudit.targets.compiled import GoldenRow

STATUSES: dict[type[Exception], str] = {
    NotFinite: "NOT_FINITE",
    OutOfRange: "OUT_OF_RANGE",
    UnknownCategory: "UNKNOWN_CATEGORY",
    OutsideDomain: "OUTSIDE_DOMAIN",
}
"""The status for each Python error."""
ANY = -1
"""Any status except OK."""


def write_harness(made: CReward, header: str, rows: Sequence[GoldenRow]) -> str:
    """Return a program that includes the file `header` and tests it on `rows`; with `--parity` it answers rows."""
    if not header.isprintable() or set(header) & set('"\\?'):
        raise TargetError(f"C cannot include a file named {header!r}; rename the header.")
    writer = _HarnessWriter(made)
    parts = [
        format_comment(
            f"Tests {made.about.name}{'@' if made.about.version else ''}{made.about.version} as C.\n\n"
            "Without arguments it compares golden rows and exits with 1 if any row differs. With --parity it reads one "
            "JSON object per line and answers each, for `plaudit parity`."
        ),
        [f'#include "{header}"', "", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"],
        writer.format_rows(rows),
        writer.format_fill(),
        _TESTING.format(prefix=made.prefix, real=made.real, **writer.describe()).splitlines(),
        writer.format_place(),
        _READING.format(prefix=made.prefix, real=made.real, **writer.describe()).splitlines(),
        writer.format_answer(),
        _MAIN.format(prefix=made.prefix, **writer.describe()).splitlines(),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


class _HarnessWriter:
    """Writes the parts that depend on the reward."""

    def __init__(self, made: CReward) -> None:
        self.made = made
        self.structs = made.structs
        self.program = made.bound
        self.numbers = made.structs.list_numbers()
        self.states = [
            f"{made.structs.name_state(name)}{entry}"
            for name, carried in self.program.states.items()
            for entry in carried.field.entries or ("",)
        ]

    def describe(self) -> dict[str, str]:
        """Return what the fixed parts need to know."""
        p, knobs, states = self.made.prefix, bool(self.program.params), bool(self.program.states)
        arguments = ["&in", *(["&knobs"] if knobs else []), *(["&state"] if states else []), "&out"]
        declared = [f"{p}_inputs in;", *([f"const {p}_knobs knobs = {p}_default_knobs();"] if knobs else [])]
        declared += [f"{p}_state state = {p}_initial_state();"] if states else []
        declared.append(f"{p}_outputs out;")
        longest = max((len(column.name) for column in self.structs.columns), default=0)
        texts = [label for field in self.program.inputs.values() for label in field.labels]
        return {
            "declared": "\n    ".join(declared),
            "call": f"{p}_score({', '.join(arguments)})",
            "numbers": str(len(self.numbers)),
            "state_argument": f", {p}_state *state" if states else "",
            "state_given": ", &state" if states else "",
            "state_passed": ", state" if states else "",
            "state_test": self._format_state_test(),
            "listed": "\n        ".join(f"found[{at}] = out.{name};" for at, name in enumerate(self.numbers)),
            "path": str(2 * longest + 64),
            "text": str(max([64, *(len(text.encode("utf-8", "surrogatepass")) + 8 for text in texts)])),
            "line": str(4096 + 64 * len(self.program.inputs) + sum(12 * len(text) for text in set(texts))),
            "identity": format_string(f"{self.made.about.name}@{self.made.about.version}"),
        }

    def _format_state_test(self) -> str:
        tests = [
            f"if (!is_near(state.{place}, row->states[{at}], row->allowed))\n            bad = 1;"
            for at, place in enumerate(self.states)
        ]
        return "\n        ".join(tests)

    def format_rows(self, rows: Sequence[GoldenRow]) -> list[str]:
        """Return the table of golden rows."""
        width = max(1, len(self.program.inputs))
        states = [f"    {self.made.real} states[{len(self.states)}];"] if self.states else []
        lines = [
            "/* Inputs in the order of `fill`; categories by position, flags as 1 or 0. Status -1: any except OK. */",
            "typedef struct golden {",
            f"    {self.made.real} inputs[{width}];",
            "    int status;",
            f"    {self.made.real} numbers[{len(self.numbers)}];",
            *states,
            f"    {self.made.real} allowed;",
            "} golden;",
            "",
            "static const golden ROWS[] = {",
        ]
        return [*lines, *(f"    {self._format_row(row)}," for row in rows), "};"]

    def _format_row(self, row: GoldenRow) -> str:
        named = "OK" if row.refused is None else STATUSES.get(row.refused)
        status = f"{self.made.prefix}_{named}" if named else str(ANY)
        parts = [self._format_list(row.inputs or (0.0,)), status, self._format_list(row.numbers)]
        parts += [self._format_list(row.states)] if self.states else []
        return f"{{{', '.join([*parts, self._format_number(row.allowed)])}}}"

    def _format_list(self, numbers: Sequence[float]) -> str:
        return f"{{{', '.join(map(self._format_number, numbers))}}}"

    def _format_number(self, number: float) -> str:
        if number != number:
            return "NAN" if self.made.real == "float" else "(double)NAN"
        return format_number(number, self.made.dtype)

    def format_fill(self) -> list[str]:
        """Return the function that makes a row of the table the inputs of the reward."""
        kinds = {"number": "", "flag": "0 != ", "category": "(int)"}
        places = [
            self.structs.format_place(each.name, "in->", "state->") for each in self.structs.columns if each.picked
        ]
        arrays = [f"    memset({place}, 0, sizeof {place});" for place in places]  # entries that are not read
        sets = [
            f"    {self.structs.format_place(name, 'in->', 'state->')} = {kinds[field.kind]}inputs[{at}];"
            for at, (name, field) in enumerate(self.program.inputs.items())
        ]
        p, real = self.made.prefix, self.made.real
        state = f", {p}_state *state" if self.states else ""
        return [
            f"static void fill({p}_inputs *in{state}, const {real} *inputs)",
            "{",
            *([] if sets else ["    in->unused = 0;", "    (void)inputs;"]),
            *([] if any("in->" in line for line in sets) or not sets else ["    in->unused = 0;"]),
            *arrays,
            *sets,
            "}",
        ]

    def format_place(self) -> list[str]:
        """Return the function that puts a value of JSON where its path says; 0 where there is no such place."""
        lines = []
        for column in self.structs.columns:
            field, place = column.slots[0].field, self.structs.format_place(column.name, "in->", "state->")
            if field.shape:
                place = f"(&{place}{'[0]' * len(field.shape)})[entry]"
            lines += [f"    if (strcmp(path, {format_string(column.name)}) == 0) {{"]
            lines += [f"        if (entry >= {math.prod(field.shape)})", "            return 0;"]
            if field.kind == "category":
                lines.append("        if (text == NULL)\n            return 0;")
                for at, label in enumerate(field.labels):
                    lines.append(f"        if (strcmp(text, {format_string(label)}) == 0) {{")
                    lines += [f"            {place} = {at};", "            return 1;", "        }"]
                lines += ["        return 0;", "    }"]
            else:
                value = "0 != number" if field.kind == "flag" else f"({self.made.real})number"
                lines += ["        if (text != NULL)", "            return 0;"]
                lines += [f"        {place} = {value};", "        return 1;", "    }"]
        p = self.made.prefix
        state = f", {p}_state *state" if self.states else ""
        return [
            f"static int place({p}_inputs *in{state}, const char *path, long entry, double number, const char *text)",
            "{",
            "    (void)in, (void)path, (void)entry, (void)number, (void)text;  /* some may be unused */",
            *lines,
            "    return 0;",
            "}",
        ]

    def format_answer(self) -> list[str]:
        """Return the function that prints the total and each term's value."""
        digits = 9 if self.made.real == "float" else 17
        terms = [f'\\"{term}\\": %.{digits}g' for term in self.program.terms]
        places = [f"(double)out->values.{member}" for member in self.structs.terms.values()]
        text = f'"{{\\"total\\": %.{digits}g, \\"values\\": {{{", ".join(terms)}}}}}\\n"'
        return [
            f"static void answer(const {self.made.prefix}_outputs *out)",
            "{",
            f"    printf({text},",
            f"           {', '.join(['(double)out->total', *places])});",
            "    fflush(stdout);",
            "}",
        ]


_TESTING = """\
static int is_near({real} found, {real} wanted, {real} allowed)
{{
    if (found != found || wanted != wanted)
        return found != found && wanted != wanted;
    return found == wanted || (found - wanted <= allowed && wanted - found <= allowed);
}}

static int test(void)
{{
    const size_t count = sizeof ROWS / sizeof ROWS[0];
    size_t at, i;
    int failed = 0;
    {declared}
    for (at = 0; at < count; at++) {{
        const golden *row = &ROWS[at];
        {real} found[{numbers}];
        int bad;
        fill(&in{state_given}, row->inputs);
        bad = (int){call} != row->status && (row->status >= 0 || out.status == {prefix}_OK);
        {listed}
        for (i = 0; i < {numbers}; i++)
            if (!is_near(found[i], row->numbers[i], row->allowed))
                bad = 1;
        {state_test}
        if (bad) {{
            failed++;
            printf("row %lu: status %d, not %d; total %.17g, not %.17g %s\\n", (unsigned long)at, (int)out.status,
                   row->status, (double)out.total, (double)row->numbers[0], {prefix}_explain(out.check));
        }}
    }}
    printf("%s: %lu rows, %d differ\\n", {identity}, (unsigned long)count, failed);
    return failed != 0;
}}
"""

_READING = """\
typedef struct reader {{
    const char *at;
    {prefix}_inputs *in;
    long entry;
}} reader;

static void skip(reader *r)
{{
    while (*r->at == ' ' || *r->at == '\\t' || *r->at == '\\r' || *r->at == '\\n')
        r->at++;
}}

static int take(reader *r, char sign)
{{
    skip(r);
    if (*r->at != sign)
        return 0;
    r->at++;
    return 1;
}}

static int read_code(reader *r, unsigned long *code)
{{
    char digits[5] = {{0}};
    char *end;
    size_t i;
    for (i = 0; i < 4 && r->at[i] != 0; i++)
        digits[i] = r->at[i];
    *code = strtoul(digits, &end, 16);
    r->at += i;
    return end == digits + 4;
}}

/* A string of JSON, as UTF-8. */
static int read_string(reader *r, char *text, size_t size)
{{
    size_t used = 0;
    if (!take(r, '"'))
        return 0;
    while (*r->at != '"') {{
        unsigned long code = (unsigned char)*r->at++, low;
        if (code == 0 || used + 5 > size)
            return 0;
        if (code != '\\\\') {{
            text[used++] = (char)code;
            continue;
        }}
        switch (*r->at++) {{
        case 'n': code = '\\n'; break;
        case 't': code = '\\t'; break;
        case 'r': code = '\\r'; break;
        case 'b': code = '\\b'; break;
        case 'f': code = '\\f'; break;
        case 'u':
            if (!read_code(r, &code))
                return 0;
            if (code >= 0xD800 && code < 0xDC00 && r->at[0] == '\\\\' && r->at[1] == 'u') {{
                r->at += 2;
                if (!read_code(r, &low))
                    return 0;
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }}
            break;
        case 0: return 0;
        default: code = (unsigned char)r->at[-1]; break;
        }}
        if (code >= 0x10000) {{
            text[used++] = (char)(0xF0 | (code >> 18));
            text[used++] = (char)(0x80 | ((code >> 12) & 0x3F));
        }} else if (code >= 0x800) {{
            text[used++] = (char)(0xE0 | (code >> 12));
        }}
        if (code >= 0x800)
            text[used++] = (char)(0x80 | ((code >> 6) & 0x3F));
        else if (code >= 0x80)
            text[used++] = (char)(0xC0 | (code >> 6));
        text[used++] = (char)(code < 0x80 ? code : 0x80 | (code & 0x3F));
    }}
    r->at++;
    text[used] = 0;
    return 1;
}}

static int read_value(reader *r{state_argument}, const char *path);

static int read_object(reader *r{state_argument}, const char *path)
{{
    char key[{path}], whole[{path}];
    if (take(r, '}}'))
        return 1;
    do {{
        if (!read_string(r, key, sizeof key) || !take(r, ':') || strlen(path) + strlen(key) + 2 > sizeof whole)
            return 0;
        strcpy(whole, path);
        strcat(whole, *path != 0 ? "." : "");
        strcat(whole, key);
        r->entry = 0;
        if (!read_value(r{state_passed}, whole))
            return 0;
    }} while (take(r, ','));
    return take(r, '}}');
}}

static int read_value(reader *r{state_argument}, const char *path)
{{
    char text[{text}];
    char *end;
    double number;
    if (take(r, '{{'))
        return read_object(r{state_passed}, path);
    if (take(r, '[')) {{
        do {{
            if (!read_value(r{state_passed}, path))
                return 0;
        }} while (take(r, ','));
        return take(r, ']');
    }}
    if (*r->at == '"') {{
        if (!read_string(r, text, sizeof text))
            return 0;
        if (place(r->in{state_passed}, path, r->entry, 0.0, text)) {{
            r->entry++;
            return 1;
        }}
        number = strcmp(text, "-inf") == 0 ? -HUGE_VAL : HUGE_VAL;
        return (strcmp(text, "inf") == 0 || number < 0) && place(r->in{state_passed}, path, r->entry++, number, NULL);
    }}
    if (strncmp(r->at, "true", 4) == 0 || strncmp(r->at, "false", 5) == 0) {{
        number = *r->at == 't';
        r->at += *r->at == 't' ? 4 : 5;
    }} else {{
        number = strtod(r->at, &end);
        if (end == r->at)
            return 0;
        r->at = end;
    }}
    return place(r->in{state_passed}, path, r->entry++, number, NULL);
}}"""

_MAIN = """\
static int answer_rows(void)
{{
    char line[{line}];
    {declared}
    memset(&in, 0, sizeof in);
    while (fgets(line, (int)sizeof line, stdin) != NULL) {{
        reader r;
        r.at = line;
        r.in = &in;
        r.entry = 0;
        if (!take(&r, '{{') || !read_object(&r{state_given}, "")) {{
            fprintf(stderr, "not a row of this reward, starting here: %s\\n", r.at);
            return 1;
        }}
        if ({call} != {prefix}_OK) {{
            fprintf(stderr, "%s\\n", {prefix}_explain(out.check));
            return 1;
        }}
        answer(&out);
    }}
    return 0;
}}

int main(int count, char **arguments)
{{
    if (count > 1 && strcmp(arguments[1], "--parity") == 0)
        return answer_rows();
    return test();
}}
"""
