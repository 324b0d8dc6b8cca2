"""Options from Python: each field with values of every kind is what it says, or an OptionError."""

import numpy as np
from helpers import each, raises
from junk import junk

from gradeval import OptionError, evaluate
from gradeval.options import Options

NUMBERS = {"0", "1", "-1", "1.5", "Fraction", "np.int64", "np.uint8", "np.float32", "np.float64"}
WHOLE = {"1", "np.int64", "np.uint8"}
TRUTHS = {"True", "np.bool"}
TEXTS = {"'1'", "'x'", "NUL", "surrogate", "np.str_"}
PATHS = TEXTS | {"b'1'", "np.bytes_"}
LISTS = {"[1]", "(1,)", "set", "range", "generator", "array", "array of texts"}
# the good values, by field; those of integers and flags follow from the row, and None from the default
GOOD = {
    "rel": NUMBERS,
    "zero_grade": NUMBERS,
    "query_ids": PATHS | LISTS | {"[b'1']", "['1', 'x']"},
    "features": LISTS | WHOLE | {"0", "'1'", "[]", "()", "np.str_", "empty array"},
    "no_relevant": WHOLE | {"0", "'1'", "np.str_"},
    "columns": {"''", "b''", "[]", "()", "{}", "empty array"},
    "split": TEXTS,
    "max_passage": TEXTS - {"surrogate"},
    "groups": PATHS,
    "query_weights": PATHS | {"{'1': 1}"},
}


@each("field", [*Options.table])
def test_any_value_of_any_field(field):
    accepted = set()
    for name, value in junk().items():
        try:
            options = Options(**{field: value})
        except OptionError as error:
            assert "\n" not in str(error)
            assert str(error).startswith((field, "query_ids", "feature"))
            assert len(str(error)) < 300
        else:
            accepted.add(name)
            kept = getattr(options, field)
            assert type(kept) in (str, bool, int, float, tuple, type(None))
            assert options == options
        try:  # a program may make Options itself; what is accepted needs no conversion
            made = getattr(Options(**{field: value}), field)
        except OptionError:
            continue
        assert type(made) in (str, np.str_, bool, int, float, np.float64, tuple, type(None))
    row = Options.table[field]
    good = GOOD.get(field, TRUTHS if row.kind.type == "flag" else set())
    if row.kind.type == "integer":
        good = WHOLE if row.kind.bounds[0] else {"0", *WHOLE}
    assert accepted == good | ({"None"} if row.default is None else set())


def test_a_wrong_option_of_evaluate():
    wrong = {"zero_grade": None, "jobs": None, "features": None, "rel": [1], "ties": np.ones(2)}
    for name, value in wrong.items():
        raises(OptionError, f"^{name}", evaluate, {"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP", **{name: value})
