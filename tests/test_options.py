"""Options from Python: each field with values of every kind is what it says, or an OptionError."""

import numpy as np
from helpers import each, raises
from junk import junk

from gradeval import OptionError, evaluate
from gradeval.options import Options

NUMBERS = {"0", "1", "-1", "1.5", "Fraction", "np.int64", "np.uint8", "np.float32", "np.float64"}
WHOLE = {"1", "np.int64", "np.uint8"}
TRUTHS = {"True", "np.bool"}
# the values that are good ones, by field; of integers and flags they follow from the row
GOOD = {
    "rel": {"None", *NUMBERS},
    "zero_grade": NUMBERS,
    "query_ids": {
        *(
            "None",
            "'1'",
            "'x'",
            "NUL",
            "surrogate",
            "b'1'",
            "[1]",
            "[b'1']",
            "['1', 'x']",
            "(1,)",
            "set",
            "range",
        ),
        *("generator", "np.str_", "np.bytes_", "array", "array of texts"),
    },
    "features": {
        *("0", "1", "'1'", "[]", "[1]", "()", "(1,)", "set", "range", "generator"),
        *("np.int64", "np.uint8", "np.str_", "array", "array of texts", "empty array"),
    },
    "no_relevant": {"None", "0", "1", "'1'", "np.int64", "np.uint8", "np.str_"},
    "columns": {"''", "b''", "[]", "()", "{}", "empty array"},
    "split": {"None", "'1'", "'x'", "NUL", "surrogate", "np.str_"},
    "max_passage": {"None", "'1'", "'x'", "NUL", "np.str_"},
    "groups": {"None", "'1'", "'x'", "NUL", "surrogate", "b'1'", "np.str_", "np.bytes_"},
    "query_weights": {"None", "'1'", "'x'", "NUL", "surrogate", "b'1'", "np.str_", "np.bytes_", "{'1': 1}"},
}


@each("field", [*Options.table])
def test_any_value_of_any_field(field):
    accepted = set()
    for name, value in junk().items():
        try:
            options = Options.of(**{field: value})
        except OptionError as error:
            assert "\n" not in str(error)
            assert str(error).startswith((field, "query_ids", "feature"))
            assert len(str(error)) < 300
        else:
            accepted.add(name)
            kept = getattr(options, field)
            assert type(kept) in (str, bool, int, float, tuple, type(None))
            assert options == options
    row = Options.table[field]
    good = GOOD.get(field, TRUTHS if row.kind.type == "flag" else set())
    if row.kind.type == "integer":
        good = WHOLE if row.kind.bounds[0] else {"0", *WHOLE}
    assert accepted == good | ({"None"} if row.default is None else set())


@each("field", [*Options.table])
def test_any_value_without_conversion(field):
    """A program may make Options itself; what is accepted needs no conversion."""
    for value in junk().values():
        try:
            options = Options(**{field: value})
        except OptionError:
            continue
        assert type(getattr(options, field)) in (str, np.str_, bool, int, float, np.float64, tuple, type(None))


def test_a_wrong_option_of_evaluate():
    for name, value in {
        "zero_grade": None,
        "jobs": None,
        "features": None,
        "rel": [1],
        "ties": np.ones(2),
    }.items():
        raises(OptionError, f"^{name}", evaluate, {"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP", **{name: value})
