"""Tables as data frames of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from gradeval.errors import GradevalError, OptionError, described

_EXTRAS = {"pyarrow": "gradeval[arrow]"}


class Tabular:
    """A result with rows, which are frames too."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A dict for each row."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with its rows()."""
        return pandas_of(self.rows())

    def to_polars(self) -> Any:
        """A polars.DataFrame with its rows()."""
        return polars_of(self.rows())


def pandas_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    return library("pandas").DataFrame(list(rows))


def polars_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    return library("polars").DataFrame(list(rows), infer_schema_length=None)


def frame_of(columns: Mapping[str, Sequence[Any]], name: str, index: Sequence[str]) -> Any:
    """The columns as a frame of pandas, with these as its index, or of polars, which has none."""
    if name == "pandas":
        return library(name).DataFrame(columns).set_index(list(index) if len(index) > 1 else index[0])
    if name == "polars":
        return library(name).DataFrame(columns)
    raise OptionError(f"library must be pandas or polars, not {described(name)}")


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        hint = f"pip install '{_EXTRAS.get(name, name)}'"
        raise GradevalError(f"{name} is not installed. Install it with {hint}") from None
