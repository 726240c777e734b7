"""Rewards as C, compiled and run: which compilers there are, the flags that must give no warning, and rows in batches."""

import ctypes
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from plaudit import Scores
from plaudit.targets.inputs import list_slots

C = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-ffp-contract=off")
CPP = ("-x", "c++", "-std=c++17", *C[1:])
LANGUAGES = {"gcc": ("gcc", C), "clang": ("clang", C), "g++": ("g++", CPP), "clang++": ("clang++", CPP)}


def need_compiler(name):
    """Return the path of a compiler; skip the test, loudly, where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def compile_text(text, folder, *, language="gcc", flags=("-O1",), name="made"):
    """Return the program made of a text, compiled without a warning."""
    compiler, strict = LANGUAGES[language]
    source, made = Path(folder, f"{name}.c"), Path(folder, name)
    source.write_text(text)
    command = [need_compiler(compiler), *strict, *flags, str(source), "-o", str(made), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{result.stderr}\n{text[:5000]}"
    return made


class CFunction:
    """A reward that was compiled as C, called on rows: inputs in the order of the Program, categories as positions.

    `knobs` are numbers, or texts of C, by the names of parameters.
    """

    def __init__(self, made, *, language="gcc", flags=("-O1",), knobs=None):
        self.made = made
        self.names = list(made.bound.inputs)
        self.outputs = ["status", "check", "field", "entry", "term", *made.structs.list_numbers()]
        text = made.header + _format_loop(made, self.outputs, knobs or {})
        key = sha256(f"{text}{language}{flags}".encode()).hexdigest()[:16]
        library = Path(_folder(), f"r{key}")
        if not library.exists():
            compile_text(text, _folder(), language=language, flags=("-shared", "-fPIC", *flags), name=library.name)
        self._run = ctypes.CDLL(str(library)).run
        self._run.restype = None

    def __call__(self, rows):
        """Return what comes out of each row, as one array a name; states after the step behind."""
        rows = np.ascontiguousarray(rows, np.float64).reshape(-1, len(self.names))
        states = [f"{name}[{at}]" for name, each in self.made.program.states.items() for at in range(len(each.reset))]
        names = [*self.outputs, *states]
        found = np.full((len(rows), len(names)), -7.0)
        pointer = ctypes.POINTER(ctypes.c_double)
        self._run(ctypes.c_long(len(rows)), rows.ctypes.data_as(pointer), found.ctypes.data_as(pointer))
        return dict(zip(names, found.T, strict=True))

    def score(self, columns):
        """Return the scores of a batch of columns."""
        rows = []
        for slot in list_slots(self.made.bound):
            array = np.asarray(columns[slot.column])
            size = len(array)
            rows.append(array.reshape(size, -1)[:, slot.entry or 0].astype(np.float64))
        found = self(np.stack(rows, axis=1))
        terms, structs = self.made.program.terms, self.made.structs
        return Scores(
            found["total"],
            {term: found[f"values.{structs.terms[term]}"] for term in terms},
            {term: found[f"scores.{structs.terms[term]}"] for term in terms},
            found["status"] == 0,
        )


def _format_loop(made, outputs, knobs):
    p, structs, program = made.prefix, made.structs, made.bound
    kinds = {"number": f"({made.real})", "flag": "0.0 != ", "category": "(int)"}
    reads = [
        f"        {structs.format_place(name, 'in.', 'state.')} = {kinds[field.kind]}row[{i}];"
        for i, (name, field) in enumerate(program.inputs.items())
    ]
    arguments = ["&in", *(["&knobs"] if program.params else []), *(["&state"] if program.states else []), "&out"]
    writes = [f"        found[{i}] = (double)out.{name};" for i, name in enumerate(outputs)]
    after = [
        f"        found[{len(outputs) + i}] = (double)state.{structs.name_state(name)}{entry};"
        for i, (name, entry) in enumerate(
            (name, entry) for name, each in program.states.items() for entry in each.field.entries or ("",)
        )
    ]
    width = len(outputs) + len(after)
    texts = {name: value if isinstance(value, str) else structs.format_value(value) for name, value in knobs.items()}
    sets = [f"    knobs.{structs.knobs[name]} = {text};" for name, text in texts.items()]
    lines = [
        "#ifdef __cplusplus",
        'extern "C"',
        "#endif",
        "void run(long count, const double *row, double *found);",
        "void run(long count, const double *row, double *found)",
        "{",
        *([f"    {p}_knobs knobs = {p}_default_knobs();", *sets] if program.params else []),
        "    long i;",
        f"    for (i = 0; i < count; i++, row += {len(program.inputs)}, found += {width}) {{",
        f"        {p}_inputs in;",
        *([f"        {p}_state state = {p}_initial_state();"] if program.states else []),
        f"        {p}_outputs out;",
        *reads,
        f"        (void){p}_score({', '.join(arguments)});",
        f"        (void){p}_explain(out.check);",
        *writes,
        *after,
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


@cache
def _folder():
    return mkdtemp(prefix="plaudit-c-")
