"""A quick compiler for JAX: most programs of tests run shorter than they are compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import unwrap
from typing import Any
from unittest.mock import patch

HASTY = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
"""Options of a compiler that takes a quarter of the time, for programs that run shorter than they are compiled."""


def compile_hastily() -> None:
    """Let JAX compile with these options from now on."""
    from jax._src import compiler  # JAX has no public way to choose the options of everything that is compiled

    compiler.get_compile_options = _hasten(compiler.get_compile_options)


@contextmanager
def hasty_compiler() -> Iterator[None]:
    """Let JAX compile with these options what is compiled meanwhile."""
    from jax._src import compiler

    with patch.object(compiler, "get_compile_options", _hasten(compiler.get_compile_options)):
        yield


@contextmanager
def usual_compiler() -> Iterator[None]:
    """Let JAX compile as it does for its users what is compiled meanwhile."""
    from jax._src import compiler

    with patch.object(compiler, "get_compile_options", unwrap(compiler.get_compile_options)):
        yield


def _hasten(usual: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(usual)
    def build_options(*given: Any, env_options_overrides: dict[str, Any] | None = None, **options: Any) -> Any:
        return usual(*given, env_options_overrides={**HASTY, **(env_options_overrides or {})}, **options)

    return build_options
