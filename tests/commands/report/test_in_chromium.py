"""The page of a report in a browser: Debian's Chromium, where it is installed."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import gradeval
from gradeval.cli import run
from gradeval.commands.explain.layout import document
from gradeval.commands.report.report import Report
from gradeval.render.document import Grid, RenderOptions

from .chromium import PROGRAM, VISIBLE, Browser
from .conftest import METRICS, QRELS, RUNS
from .test_page import HOSTILE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed (apt-get install chromium)"),
]
pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")


@pytest.fixture(scope="module")
def path(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html, "utf-8")
    return path


@pytest.fixture
def page(browser: Browser, path: Path) -> Browser:
    """The browser with the report."""
    browser.show(path)
    return browser


WHY = "document.querySelector('.why').innerText"
STATUS = "document.getElementById('status').textContent"


def test_it_is_whole_when_it_is_loaded(browser: Browser, path: Path) -> None:
    """What prints a page does not wait: then one table of queries is shown, with differences and the chart."""
    whats = [VISIBLE, f"{VISIBLE} > tbody > tr:first-child > *", "#chart rect"]
    found = f"{json.dumps(whats)}.map((what) => document.querySelectorAll(what).length)"
    script = f"document.addEventListener('DOMContentLoaded', () => {{ window.whole = {found}; }})"
    added = browser("Page.addScriptToEvaluateOnNewDocument", source=script)
    browser.open(path)
    browser("Page.removeScriptToEvaluateOnNewDocument", **added)
    assert browser.run("whole") == [1, 6, 50]


def test_it_sorts(page: Browser) -> None:
    rows = page.rows()
    assert len(rows) == 50
    changes = [float(row[4]) for row in rows]
    assert changes == sorted(changes, reverse=True)

    def sorted_by() -> list[str]:
        heads = f"[...document.querySelectorAll('{VISIBLE} > thead th[aria-sort]')]"
        found: list[str] = page.run(f"{heads}.map((head) => head.ariaSort)")
        return found

    assert sorted_by() == [*["none"] * 4, "descending"]
    page.click(f"{VISIBLE} th:nth-child(3) button")
    values = [float(row[2]) for row in page.rows()]
    assert values == sorted(values, reverse=True)
    assert sorted_by() == ["none", "none", "descending", "none", "none"]
    page.click(f"{VISIBLE} th:nth-child(3) button")
    assert [float(row[2]) for row in page.rows()] == values[::-1]
    page.click(f"{VISIBLE} th:nth-child(1) button")
    assert [row[0] for row in page.rows()] == [str(401 + q) for q in range(50)]
    assert sorted_by()[0] == "ascending"
    page.choose("metric", 3)  # rankDCG, whose undefined values are last either way
    for _ in range(2):
        page.click(f"{VISIBLE} th:nth-child(2) button")
        assert sorted(row[:2] for row in page.rows()[-2:]) == [["417", "-"], ["433", "-"]]


def test_it_filters(page: Browser, report: Report) -> None:
    page.choose("filter", "42")
    assert sorted(row[0] for row in page.rows()) == [*map(str, range(420, 430)), "442"]
    assert "nDCG@10, 11 of 50 queries." in page.run(STATUS)
    assert page.run("document.querySelectorAll('#chart rect').length") == 11
    page.choose("filter", "")
    pair = report.comparison.find("dense", "nDCG@10")
    for kind, count in (("better", pair.won), ("equal", pair.tied), ("worse", pair.lost)):
        page.choose("kind", kind)
        assert len(page.rows()) == count
    page.choose("filter", "nowhere")
    assert page.rows() == []


def test_any_two_runs(page: Browser, report: Report) -> None:
    page.choose("run", 0)
    page.choose("baseline", 2)
    page.choose("metric", 1)
    expected = report.values.differences(2, 0)[1]
    shown = {row[0]: row[4] for row in page.rows()}
    for query, value in zip(report.values.queries, expected.tolist(), strict=True):
        assert shown[query] == (f"{value:+.4f}" if value else "0.0000")
    one = report.comparison.find("hybrid", "AP")
    interval = (
        f"95 % interval [{-one.high:.4f}, {-one.low:.4f}], p {one.p:.4f}, corrected p {one.p_corrected:.4f}"
    )
    text = (
        f"bm25 minus hybrid, all queries: mean difference +0.0012, {interval}; queries won/tied/lost 25/1/24."
    )
    assert page.run(STATUS).endswith(text)
    page.choose("run", 1)
    assert page.run(STATUS).endswith("; --all-pairs would add an interval and p.")
    page.choose("run", 0)
    page.choose("baseline", 0)
    assert {row[4] for row in page.rows()} == {"0.0000"}


def test_a_click_opens_the_explanation(page: Browser) -> None:
    page.click(f"{VISIBLE} tbody button")
    assert page.rows()[0][0] == "424"
    assert list(page.tables()) == ["Documents that make the difference", "dense", "bm25"]
    head, first, *_ = page.tables()["dense"]
    assert head == [*("rank", "document", "score", "grade", "gain", "discount", "adds", "ideal rank", "loss")]
    assert first == ["1", "LA121190-0172", "2.4681", "4", "4.0000", "1.0000", "0.4611", "1", "0.0000"]
    assert "nDCG@10 = DCG 6.7268 / ideal DCG 8.6745 = 0.7755" in page.run(WHY)
    # it stays open under another metric, and closes with a further click
    page.choose("metric", 2)
    assert "AP at each level: + reaches it, - does not" in page.tables()
    page.click(f"{VISIBLE} tbody button[aria-expanded=true]")
    assert page.tables() == {}


def test_the_text_of_a_query(browser: Browser, tmp_path: Path) -> None:
    texts = {"424": "<b>suicides</b>", "401": "minorities"}
    report = gradeval.report(QRELS, RUNS[:2], "AP", query_ids="401,424,441", queries_text=texts)
    assert report.query_texts == texts
    (tmp_path / "texts.html").write_text(report.render(), "utf-8")
    browser.show(tmp_path / "texts.html")
    browser.choose("filter", "424")
    browser.click(f"{VISIBLE} tbody button")
    assert browser.run(f"document.querySelector('{VISIBLE} .why p').textContent") == "<b>suicides</b>"


def test_the_differences_are_those_of_explain(browser: Browser, tmp_path: Path) -> None:
    """For all metrics: the documents, ranks, contributions and differences that explain prints."""
    report = gradeval.report(QRELS, RUNS[:2], METRICS, query_ids="401,417,418,424,433")
    (tmp_path / "two.html").write_text(report.render(), "utf-8")
    browser.show(tmp_path / "two.html")
    browser.run(f"document.querySelectorAll('{VISIBLE} tbody button').forEach((one) => one.click())")
    rows = "[...row.querySelector('table').rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    id_of = "row.previousSibling.cells[0].innerText"
    table = f"[{id_of}, row.querySelector('table').caption.textContent, {rows}]"
    for m, metric in enumerate(report.values.metrics):
        browser.choose("metric", m)
        found = browser.run(f"[...document.querySelectorAll('{VISIBLE} .why')].map((row) => {table})")
        explained = gradeval.explain(QRELS, RUNS[1], metric.name, report.values.queries, against=RUNS[0])
        shown = {query: cells for query, title, cells in found if title == "Documents that make the difference"}
        for one in explained:
            if one.value != one.value:  # undefined
                assert one.query not in shown
                continue
            title = "Documents that make the difference"
            blocks = document(one, RenderOptions(), ranks=10).blocks()
            [grid] = [block for block in blocks if isinstance(block, Grid) and block.title == title] or [None]
            rows = [[*grid.head], *([cell.text for cell in row] for row in grid.cells)] if grid else []
            rows = [["other documents", *row[1:]] if row[0].endswith(" more") else row for row in rows]
            expected, own = (
                [row for row in of if row[0] != "other documents" or (one.is_sum and row[-1] != "0.0000")]
                for of in (rows, shown.get(one.query, []))
            )
            # equal ones may be in another order, and which of them are the first ten
            assert [row[-1].lstrip("+-") for row in own] == [row[-1].lstrip("+-") for row in expected]
            if len(own) < 11:
                assert sorted(own) == sorted(expected), (metric.name, one.query)


def test_the_chart_opens_queries(page: Browser) -> None:
    page.click("#chart rect:last-of-type")
    last = page.rows()[-1]
    assert page.run("document.activeElement.textContent") == last[0].strip()
    assert page.run("document.activeElement.ariaExpanded") == "true"
    about = page.run("document.getElementById('about').textContent")
    assert about.startswith("nDCG@10: difference on each query")


def test_the_keyboard_suffices(page: Browser) -> None:
    page.run("document.getElementById('filter').focus()")
    for letter in "433":
        page.press(letter, letter)
    assert [row[0] for row in page.rows()] == ["433"]
    active = "document.activeElement"
    stops = []
    for _ in range(20):
        page.press("Tab")
        stops.append(page.run(f"{active}.textContent"))
        assert page.run(f"getComputedStyle({active}).outlineStyle") != "none"
        if stops[-1] == "433":
            break
    assert stops[-6:] == ["query", "bm25", "dense", "hybrid", "difference", "433"]
    page.press("Enter")
    assert page.run(f"[{active}.textContent, {active}.ariaExpanded]") == ["433", "true"]
    page.press(" ")
    assert page.run(f"[{active}.textContent, {active}.ariaExpanded]") == ["433", "false"]


def names_by_role(nodes: list[dict[str, Any]]) -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for node in nodes:
        if not node.get("ignored"):
            found[node["role"]["value"]].append(node.get("name", {}).get("value", ""))
    return found


def test_a_screen_reader_finds_names_and_states(page: Browser) -> None:
    page.click(f"{VISIBLE} tbody button")
    nodes = page("Accessibility.getFullAXTree")["nodes"]
    found = names_by_role(nodes)
    assert [name for name in found["heading"] if name] == [
        *("Ranking evaluation", "Summary", "Queries", "Coverage", "Notes", "How this page was made")
    ]
    assert {"Means", "Differences from bm25", "nDCG@10", "dense", "Coverage", "Input"} <= set(found["table"])
    assert {"Metric", "Run", "minus", "Show"} == set(found["combobox"])
    assert found["searchbox"] == ["Query"]
    assert all(found["button"]) and "424" in found["button"]
    assert all(name for name in found["region"])
    assert "0.4980 significantly worse than bm25" in [" ".join(name.split()) for name in found["cell"]]
    expanded = [
        node["name"]["value"]
        for node in nodes
        for of in node.get("properties", [])
        if of["name"] == "expanded" and of["value"]["value"] is True
    ]
    assert expanded == ["424"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_contrast_suffices(browser: Browser, path: Path, scheme: str) -> None:
    """Of text at least 4.5 to 1, as WCAG 2 has it."""
    browser.show(path, scheme=scheme)

    def luminance(css: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", css)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    paper = luminance(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.5) == (scheme == "light")
    for selector in ("body", ".legend", "td.better", "td.worse", "#status", "#chart text"):
        name = "fill" if "text" in selector else "color"
        ink = luminance(browser.run(f"getComputedStyle(document.querySelector('{selector}')).{name}"))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5, selector


def test_narrow_screens_and_paper(browser: Browser, path: Path) -> None:
    """The page is as wide as the screen: wide tables scroll by themselves. On paper there are no controls."""
    for width in (390, 320, 1400):
        browser.show(path, width=width)
        browser.click(f"{VISIBLE} tbody button")
        assert browser.run("document.documentElement.scrollWidth") == width
        cells = "[...document.querySelectorAll('.why p, [aria-labelledby=made] td')]"
        assert max(browser.run(f"{cells}.map((one) => one.getBoundingClientRect().right)")) <= width
    browser.show(path, width=718, media="print")
    assert browser.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert browser.run("[...document.querySelectorAll('table')].every((one) => one.offsetWidth <= 718)")


def test_the_policy_holds(chromium: Browser, path: Path) -> None:
    """What an attacker would try does not happen: scripts, handlers, styles, requests, HTML made from text."""
    chromium.show(path)
    attacks = """(async () => {
        const found = [];
        document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
        const script = document.createElement("script");
        try { script.textContent = "window.hacked = true"; } catch { found.push("script"); }
        document.body.append(script);
        const image = document.createElement("img");
        image.setAttribute("src", "https://example.org/x.png");
        document.body.append(image);
        document.body.setAttribute("style", "color: red");
        try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); } catch { found.push("html"); }
        try { await fetch("https://example.org/"); } catch { found.push("fetch"); }
        await new Promise((done) => setTimeout(done, 20));
        return [found, window.hacked === undefined];
    })()"""
    found, is_safe = chromium.run(attacks)
    assert is_safe
    assert {"script", "html", "fetch", "img-src", "style-src-attr", "connect-src"} <= set(found)
    sent = [one["request"]["url"] for name, one in chromium.events if name == "Network.requestWillBeSent"]
    arrived = [name for name, _ in chromium.events if name == "Network.responseReceived"]
    assert len(arrived) == 1, sent


def test_hostile_names_stay_text(browser: Browser, tmp_path: Path) -> None:
    names = [name.replace(" ", "_") for name in HOSTILE]
    judged = {q: {d: i % 3 for i, d in enumerate(names)} for q in names}
    runs = {
        name: {q: {d: i * (-1) ** r for i, d in enumerate(names)} for q in names}
        for r, name in enumerate(names[:2])
    }
    titles = {name: f"</script><img src=x onerror=alert(1)>{name}" for name in names}
    path = tmp_path / "<b>.html"
    path.write_text(gradeval.report(judged, runs, "nDCG F@2", text=titles, title=HOSTILE[0]).render(), "utf-8")
    browser.show(path)
    for m in range(2):
        browser.choose("metric", m)
        closed = f"{VISIBLE} tbody button[aria-expanded=false]"
        browser.run(f"document.querySelectorAll('{closed}').forEach((one) => one.click())")
        assert {row[0].strip() for row in browser.rows()} == {
            name.replace("\u202e", "\\u202e") for name in names
        }
        assert len(browser.tables()) == 3
    text = browser.run(WHY)
    assert "<script>alert(1)</script>" in text and titles[names[0]] in text
    assert browser.run("document.querySelectorAll('img, i, script:not([id]):not(:last-of-type)').length") == 0


def test_numbers_are_rounded_as_in_python(page: Browser) -> None:
    """Those in the middle too, which go to the even digit."""
    texts = "0.03125 0.09375 0.15625 0.5 1.5 2.5 0.00005 0.00015 0.1 0.99995 12345.67885"
    values = [*map(float, texts.split()), 1 / 3, 2 / 3]
    values += [value * 2**-n for n in range(1, 12) for value in (1, 3, 5, 7)]
    for digits in (0, 1, 2, 4, 7):
        found = page.run(f"{json.dumps(values)}.map((value) => fixed(value, {digits}))")
        assert found == [f"{value:.{digits}f}" for value in values]
    shown = page.run(f"{json.dumps([-0.00001, 0.00001, -0.5, 0.5, 0])}.map(signed)")
    assert shown == ["0.0000", "0.0000", "-0.5000", "+0.5000", "0.0000"]


def test_saved_results_have_no_explanations(browser: Browser, tmp_path: Path) -> None:
    """No command has one, so the page names none."""
    saved, path = tmp_path / "saved.json", tmp_path / "saved.html"
    command = [QRELS, *RUNS[:2], "-q", "-f", "json", "-m", "AP", "-o", saved, "--quiet"]
    assert run([*map(str, command)]) == 0
    path.write_text(gradeval.report(QRELS, saved).render(), "utf-8")
    before_the_script, *_ = path.read_text("utf-8").split("<script")
    assert "gradeval explain" not in before_the_script
    browser.show(path)
    browser.click(f"{VISIBLE} tbody button")
    assert browser.run(WHY) == "The runs are saved results, whose documents are not known."


def test_without_javascript(chromium: Browser, path: Path) -> None:
    """All tables can be read, and nothing promises what does not work."""
    chromium("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(path)
        nodes = chromium("Accessibility.getFullAXTree")["nodes"]
    finally:
        chromium("Emulation.setScriptExecutionDisabled", value=False)
    names = names_by_role(nodes)
    assert {"nDCG@10", "AP", "µAP", "rankDCG", "F@10", "Means", "Coverage"} <= set(names["table"])
    assert "0.2759" in names["cell"] and "424" in names["rowheader"]
    assert not names["button"] and not names["combobox"]
    assert any("need JavaScript" in text for text in names["StaticText"])


def test_ranks_that_are_left_out_are_marked(page: Browser) -> None:
    page.choose("metric", 1)  # AP, without a cutoff
    page.choose("filter", "424")
    page.click(f"{VISIBLE} tbody button")
    [one] = gradeval.explain(QRELS, RUNS[1], "AP", "424")
    grid = next(grid for grid in document(one, RenderOptions(), ranks=10).blocks() if isinstance(grid, Grid))
    ranks = [row[0].text for row in grid.cells]
    first = ranks.index("…") + 2  # the page has further documents of lower ranks
    assert [row[0] for row in page.tables()["dense"][1:]][:first] == ranks[:first]


def test_axes_end_at_round_numbers(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "axes.html"
    path.write_text(gradeval.report(QRELS, RUNS, "tau num_rel_ret nDCG@10", explain=0).render(), "utf-8")
    browser.show(path)
    ticks = "[...document.querySelectorAll('#chart text')].map((tick) => tick.textContent)"
    legend = f"[...document.querySelectorAll('{VISIBLE} th.dots > span > span')].map((one) => one.textContent)"
    of_chart = ("\u22121", "+1"), ("\u221215", "+5"), ("\u22120.8", "+0.6")
    of_rows = ("\u22120.2", "1"), ("0", "20"), ("0", "1")
    for m, ends in enumerate(zip(of_chart, of_rows, strict=True)):
        browser.choose("metric", m)
        found = [browser.run(texts) for texts in (ticks, legend)]
        assert tuple((texts[0], texts[-1]) for texts in found) == ends


def places(browser: Browser, row: str, shapes: dict[str, str]) -> list[float]:
    """Where the shapes of a row are, as shares of its drawing; shapes: of SVG -> which of their attributes."""
    parts = [
        f"...[...document.querySelectorAll('{row} {of}')].map((one) => one.getAttribute('{name}'))"
        for of, name in shapes.items()
    ]
    return [(float(place.rstrip("%")) - 1) / 98 for place in browser.run(f"[{', '.join(parts)}]")]


def test_values_are_drawn_on_a_line(page: Browser, report: Report) -> None:
    """From a circle, the baseline, to a disc, the run; the other runs are points."""
    row = f"{VISIBLE} tbody tr:first-child .dots"
    shapes = {".empty": "cx", ".full": "cx", ".small": "cx", "line.better": "x1", "line.better ": "x2"}
    bm25, dense, hybrid = report.values.values[:, 0, report.values.queries.index("424")].tolist()
    assert places(page, row, shapes) == pytest.approx([bm25, dense, hybrid, bm25, dense], abs=1e-4)
    legend = f"document.querySelector('{VISIBLE} th.dots').innerText"
    assert page.run(legend).split() == ["0", "dense", "bm25", "others", "1"]
    page.choose("baseline", 2)
    page.choose("filter", "424")
    shapes = {".empty": "cx", ".full": "cx", ".small": "cx", "line.worse": "x1", "line.worse ": "x2"}
    assert places(page, row, shapes) == pytest.approx([hybrid, dense, bm25, hybrid, dense], abs=1e-4)


def test_intervals_are_drawn(browser: Browser, tmp_path: Path) -> None:
    """A disc is significant. All metrics have one scale if all are shares, which the legend says."""
    path = tmp_path / "intervals.html"
    table, legend = (
        "[aria-labelledby=summary] .scroll:last-of-type",
        "document.querySelector('.legend').textContent",
    )
    for metrics, end in (
        ("nDCG AP", "Drawn intervals: one scale for all metrics."),
        ("nDCG num_rel_ret", "Drawn intervals: a scale for each metric."),
        ("nDCG", "standard deviation of the differences."),
    ):
        report = gradeval.report(QRELS, RUNS, metrics, explain=0)
        path.write_text(report.render(), "utf-8")
        browser.show(path)
        assert browser.run(legend).endswith(end)
        pairs = report.comparison.comparisons
        for n, pair in enumerate(pairs, 1):
            row = f"{table} tbody tr:nth-child({n})"
            dot = "full" if pair.verdict else "empty"
            shapes = {".axis": "x1", "line:nth-of-type(2)": "x1", f".{dot}": "cx", "line:nth-of-type(2) ": "x2"}
            of_scale = [of for of in pairs if "one scale" in end or of.metric == pair.metric]
            low, high = min(0.0, *(of.low for of in of_scale)), max(0.0, *(of.high for of in of_scale))
            values = [0.0, pair.low, pair.estimate, pair.high]
            expected = [(value - low) / (high - low) for value in values]
            assert places(browser, row, shapes) == pytest.approx(expected, abs=1e-4)
    # what is infinite ends where the scale ends; of one query there is no interval, and nothing is drawn
    one, other = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}
    for report, ends in (
        (gradeval.report(QRELS, RUNS[:2], "AP", query_ids="401,402,403", test="sign"), [0, 1]),
        (gradeval.report({"q": {"a": 1}}, {"run": one, "other": other}, "AP"), []),
    ):
        path.write_text(report.render(), "utf-8")
        browser.show(path)
        shapes = {"line:nth-of-type(2)": "x1", "line:nth-of-type(2) ": "x2"}
        assert places(browser, table, shapes) == ends


def test_bounds_are_drawn_behind_the_interval(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "bounds.html"
    report = gradeval.report(QRELS, RUNS[:2], "nDCG@10 tau", bounds=True, explain=0)
    path.write_text(report.render(), "utf-8")
    browser.show(path)
    bounded, other = report.comparison.comparisons
    low, high = bounded.missing.lower_bound, max(bounded.missing.upper_bound, other.high)
    shapes = {".bounds": "x1", ".bounds ": "x2", ".full": "cx"}
    expected = [(x - low) / (high - low) for x in (low, bounded.missing.upper_bound, bounded.estimate)]
    row = "[aria-labelledby=summary] .scroll:last-of-type tbody tr"
    assert places(browser, f"{row}:nth-child(1)", shapes) == pytest.approx(expected, abs=1e-4)
    assert places(browser, f"{row}:nth-child(2)", {".bounds": "x1"}) == []


def test_one_run(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    path.write_text(gradeval.report(QRELS, RUNS[0], "nDCG@10", explain=2).render(), "utf-8")
    browser.show(path)
    assert [row[0] for row in browser.rows()] == [str(401 + q) for q in range(50)]
    browser.click(f"{VISIBLE} th:nth-child(2) button")
    browser.click(f"{VISIBLE} th:nth-child(2) button")
    browser.run(
        f"[...document.querySelectorAll('{VISIBLE} tbody button')].slice(0, 3).forEach((one) => one.click())"
    )
    why = browser.run("[...document.querySelectorAll('.why')].map((one) => one.innerText)")
    # first the query without a relevant document: the worst that are explained have one
    assert [text.startswith("bm25") for text in why] == [False, True, True]
    assert why[0] == "This page has no explanation of this query; gradeval explain prints it."
