"""Rewards as C, compiled and run: which compilers there are, the flags that must give no warning, and rows in batches."""

import ctypes
import os
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np
import pytest

from plaudit import Scores
from plaudit.targets.inputs import list_slots

C = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-ffp-contract=off")
CPP = ("-x", "c++", "-std=c++17", *C[1:])
LANGUAGES = {"gcc": ("gcc", C), "clang": ("clang", C), "g++": ("g++", CPP), "clang++": ("clang++", CPP)}
COMPILERS = [
    pytest.param(name, marks=() if name in ("gcc", "clang++") else pytest.mark.slow, id=name) for name in LANGUAGES
]
"""All languages for `parametrize`: `make test` takes one compiler for C and the other for C++, `make soak` all."""


def need_compiler(name):
    """Return the path of a compiler; skip the test, loudly, where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def compile_text(text, *, header="", language="gcc", flags=("-O1",)):
    """Return the program made of a text, compiled without a warning; one that was compiled before is kept.

    `header` is what the text includes as reward.h.
    """
    compiler, strict = LANGUAGES[language]
    command = [need_compiler(compiler), *strict, *flags]
    key = sha256("\0".join([_version(command[0]), *command, header, text]).encode()).hexdigest()[:24]
    made = Path(_folder(), key)
    if not made.exists():
        with TemporaryDirectory(dir=made.parent) as folder:
            source, draft = Path(folder, "made.c"), Path(folder, "made")
            source.write_text(text)
            Path(folder, "reward.h").write_text(header)
            command += [str(source), "-o", str(draft), "-lm"]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            assert result.returncode == 0, f"{result.stderr}\n{text[:5000]}"
            draft.replace(made)
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
        library = compile_text(text, language=language, flags=("-shared", "-fPIC", *flags))
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
def _version(compiler):
    """Return which compiler it is: one of another version may warn of more, and compiles anew."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


@cache
def _folder():
    """Return where programs are kept: beside what Numba and JAX compiled, as `make test` says, or in a temporary folder."""
    if "PLAUDIT_CACHE_DIR" not in os.environ:
        return mkdtemp(prefix="plaudit-c-")
    kept = Path(os.environ["PLAUDIT_CACHE_DIR"], "c-tests")
    kept.mkdir(parents=True, exist_ok=True)
    return kept
