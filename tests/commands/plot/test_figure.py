"""Pictures drawn with matplotlib: what is in them, and that their bytes do not change."""

import sys
import warnings
from importlib.util import find_spec
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import each, error_of, raises

import gradeval
from commands.groups import QRELS, RUNS
from gradeval.commands.plot.picture import format_of, without_glyphs
from gradeval.errors import GradevalError, OptionError

pytestmark = pytest.mark.skipif(
    not find_spec("matplotlib"), reason="matplotlib is not installed (gradeval[plot])"
)

SMALL = {"levels": (2, 3), "items": 8, "repeats": 7, "swaps": 5}
TINY = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1, "c": 1}}
TINY_RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}


@pytest.fixture(scope="module")
def pictures():
    return {
        "queries": gradeval.plot.queries(QRELS, RUNS[0]),
        "differences": gradeval.plot.queries(QRELS, RUNS),
        "curve": gradeval.plot.curve(QRELS, RUNS, "P nDCG", at="1,2,5,20", log=True),
        "phi": gradeval.plot.phi(QRELS),
        "swaps": gradeval.plot.swaps("muAP nDCG", **SMALL),
    }


def image(*args):
    from gradeval.commands.plot.figure import image  # matplotlib takes a while to import

    return image(*args)


@pytest.mark.slow
@each(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_same_bytes(format, start, monkeypatch):
    """Without the time, the version of matplotlib or the settings of the user; without pyplot."""
    import matplotlib

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    picture = gradeval.plot.queries(TINY, TINY_RUN)
    data, missing = image(picture, format, (3, 2))
    assert missing == ""
    with matplotlib.rc_context({"lines.linewidth": 9, "svg.fonttype": "none", "svg.hashsalt": None}):
        before = matplotlib.rcParams.copy()
        assert image(picture, format, (3, 2))[0] == data
        assert matplotlib.rcParams.copy() == before
    assert data.startswith(start)
    assert matplotlib.__version__.encode() not in data
    assert b"<dc:date>" not in data and b"CreationDate" not in data
    assert b"<text" not in data  # letters are paths: they need no font


def drawn(picture, size=None):
    from gradeval.commands.plot import figure

    with figure.style.context(["default", figure._SETTINGS]):
        return figure._figure(picture, size)


def test_bars_their_names_and_their_room(pictures):
    picture = pictures["differences"]
    found = drawn(picture)
    assert len(found.axes) == len(picture.panels) == 2
    for axes, panel in zip(found.axes, picture.panels, strict=True):
        heights = [bar.get_height() for container in axes.containers[:1] for bar in container]
        assert heights == panel.bars.y.tolist()
        colours = {bar.get_facecolor() for bar in axes.containers[0]}
        assert len(colours) == 2
        assert axes.get_title(loc="left").startswith(f"{panel.title}\n{panel.bars.pair.won} won, ")
        assert axes.get_xlabel() == "Queries by difference (50)"
    assert found.axes[0].get_ylabel() == "Difference in nDCG@10"
    assert found.axes[0].get_ylim() == found.axes[1].get_ylim()
    # queries are named where there is room
    picture = pictures["queries"]
    names = [text.get_text() for text in drawn(picture).axes[0].get_xticklabels()]
    assert names == list(picture.panels[0].bars.queries)
    assert names[0] not in [text.get_text() for text in drawn(picture, (3, 2)).axes[0].get_xticklabels()]
    # a size that is too small is an error
    raises(OptionError, "too small for 2 by 2 charts", drawn, pictures["swaps"], (3.3, 2.4))
    drawn(pictures["swaps"], (3.3, 3.2))


@each("name", ["curve", "phi", "swaps"])
def test_lines_are_the_data(pictures, name):
    picture = pictures[name]
    for axes, panel in zip(drawn(picture).axes, picture.panels, strict=True):
        lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
        assert len(lines) == len(panel.lines)
        for line, of in zip(lines, panel.lines, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), of.x)
            np.testing.assert_array_equal(line.get_ydata(), of.y)
        assert axes.get_xlabel() in (panel.x.label, "")
        low, high = axes.get_ylim()
        assert low > -0.2 and high < 1.2


@pytest.mark.slow
def test_lines_differ_without_colours():
    """In dashes or in markers; and no two neighbours in either."""
    runs = {f"run{n:02}": {"q1": {"a": 1.0, "b": n}} for n in range(12)}
    [axes] = drawn(gradeval.plot.curve(TINY, runs, at="1,2")).axes
    styles = [(line._dash_pattern, line.get_marker()) for line in axes.get_lines()[:12]]
    assert len({str(style) for style in styles}) == 12
    assert all(one[0] != other[0] and one[1] != other[1] for one, other in pairwise(styles))
    # they are text: no mathematics, nothing left out of the legend, bytes that are not UTF-8 have a
    # mark
    names = ["$a_b$", "_hidden", "x" * 100, "caf\udce9", "tab\t", "no \ufffe \uffff"]
    picture = gradeval.plot.curve(TINY, dict.fromkeys(names, TINY_RUN), at="1,2")
    [legend] = drawn(picture).legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown[:2] == names[:2]
    assert len(shown[2]) == 32 and "…" in shown[2]
    assert shown[3:] == ["caf\ufffd", r"tab\t", "no \ufffd \ufffd"]
    data, missing = image(picture, "svg")
    assert not missing
    ElementTree.fromstring(data)


@pytest.mark.slow
def test_characters_that_the_font_lacks(tmp_path):
    picture = gradeval.plot.queries(TINY, {"测试": TINY_RUN})
    assert image(picture, "svg")[1] == "测试"
    with pytest.warns(UserWarning, match="the font of saved pictures lacks 测试, shown as boxes"):
        picture.save(tmp_path / "x.svg")
    assert "测测测测测测测测测测…" in str(without_glyphs("测" * 20))
    # their outline, so that the file stays small
    qrels = {f"q{n}": {"a": 1} for n in range(900)}
    run = {query: {f"x{rank}": -rank for rank in range(n % 7)} | {"a": -99.0} for n, query in enumerate(qrels)}
    assert image(gradeval.plot.queries(qrels, run, "RR"), "svg", (3, 2))[0].count(b"<path") < 200


@pytest.mark.slow
@each("picture", [
    lambda: gradeval.plot.queries(TINY, TINY_RUN, "rankDCG"),
    lambda: gradeval.plot.queries({"q": {"a": 1}}, {"r": {"q": {"a": 1.0}}, "s": {"q": {"b": 1.0}}}),
    lambda: gradeval.plot.phi({"q": {"a": 0}}, query="q"),
    lambda: gradeval.plot.swaps("nDCG", levels=(2,), items=2, repeats=1, swaps=1),
])  # fmt: skip
def test_little_data(picture):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gradeval.EvaluationWarning)
        assert image(picture(), "svg")[0].startswith(b"<?xml")


def test_save(pictures, tmp_path):
    path = tmp_path / "phi.SVG"
    path.write_text("old")
    pictures["phi"].save(path, size=(3, 2))
    assert path.read_bytes() == image(pictures["phi"], "svg", (3, 2))[0]
    assert b'width="216pt"' in path.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == ["phi.SVG"]
    raises(OptionError, "size must be width and height in inches", pictures["phi"].save, path, size=(0, 2))
    raises(OptionError, r"no such|does not exist", pictures["phi"].save, tmp_path / "nowhere" / "x.svg")
    # unknown endings
    for path, what in (("x.jpg", "unknown ending '.jpg'"), ("x", "no ending"), ("", "no ending")):
        with pytest.raises(OptionError) as error:
            format_of(path)
        assert str(error.value) == f"save {path}: {what}. The endings are .svg, .png and .pdf"
    error_of(GradevalError, pictures["phi"].save, "x.svgz")
