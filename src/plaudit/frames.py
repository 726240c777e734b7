"""Columns as tables of other libraries: of Arrow, pandas and Polars, each imported when it is asked for."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from plaudit.errors import MissingExtra

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

ArrowTable: TypeAlias = "pyarrow.Table"
PandasFrame: TypeAlias = "pandas.DataFrame"
PolarsFrame: TypeAlias = "polars.DataFrame"

_INSTALL = {"pyarrow": "'plaudit[data]'", "pandas": "pandas", "polars": "'plaudit[polars]'"}


def _import(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        install = _INSTALL[library]
        raise MissingExtra(f"this table needs {library}. Install it: pip install {install}") from error


def build_arrow(columns: Mapping[str, Any]) -> ArrowTable:
    """Return columns as a table of Arrow; MissingExtra where that is not installed."""
    table: pyarrow.Table = _import("pyarrow").table(dict(columns))
    return table


def build_pandas(columns: "Mapping[str, Any] | ArrowTable") -> PandasFrame:
    """Return columns, or a table of Arrow, as a data frame of pandas; MissingExtra where that is not installed."""
    library = _import("pandas")
    frame: pandas.DataFrame = library.DataFrame(dict(columns)) if isinstance(columns, Mapping) else columns.to_pandas()
    return frame


def build_polars(columns: "Mapping[str, Any] | ArrowTable") -> PolarsFrame:
    """Return columns, or a table of Arrow, as a data frame of Polars; MissingExtra where that is not installed."""
    library = _import("polars")
    frame: polars.DataFrame = (
        library.DataFrame(dict(columns)) if isinstance(columns, Mapping) else library.from_arrow(columns)
    )
    return frame


class Tabular(ABC):
    """What can be taken as a table of any library."""

    __slots__ = ()

    @abstractmethod
    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the table, by name."""

    def to_arrow(self) -> ArrowTable:
        """Return it as a table of Arrow; MissingExtra where that is not installed."""
        return build_arrow(self.to_columns())

    def to_pandas(self) -> PandasFrame:
        """Return it as a data frame of pandas; MissingExtra where that is not installed."""
        return build_pandas(self.to_columns())

    def to_polars(self) -> PolarsFrame:
        """Return it as a data frame of Polars; MissingExtra where that is not installed."""
        return build_polars(self.to_columns())


def align_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers and arrays, of NumPy, JAX or PyTorch, as columns of NumPy of the same length."""
    import numpy as np

    plain = [column.detach().cpu() if hasattr(column, "detach") else column for column in columns.values()]
    return dict(zip(columns, np.broadcast_arrays(*map(np.atleast_1d, map(np.asarray, plain))), strict=True))
