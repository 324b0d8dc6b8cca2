"""What a report is made of, and its page as it is without a browser."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import raises

import gradeval
from gradeval.commands.report.report import Report
from gradeval.errors import GradevalError, OptionError

from .conftest import QRELS, RUNS

pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img onerror=alert(1) src=x>',
    "</script><!--",
    "a&amp;b\u202e",
    "{{7*7}}",
]
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """The elements of a page: (name, attributes), and the texts of the cells of each table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self._table: list[list[str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")
        if tag == "tr":
            self._table.append([])
        elif tag in ("th", "td"):
            self._table[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[self.texts["caption"][-1]] = self._table
            self._table = []

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data
        if {"th", "td"} & set(self.open):
            self._table[-1][-1] += data


def data_of(html: str) -> Any:
    """What the script of the page draws from."""
    [plain] = re.findall(r'<script type="application/json" id="data">([^<]*)</script>', html)
    [text] = re.findall(r'<script type="text/plain" id="explanations">([^<]*)</script>', html)
    return json.loads(plain) | json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_tables_have_everything_without_a_script(report: Report, page: Page, html: str) -> None:
    assert page.open == []
    assert list(page.tables) == [
        *("Means", "Differences from bm25", "nDCG@10", "AP", "µAP", "rankDCG", "F@10", "Coverage", "Input")
    ]
    head, bm25, dense, _ = page.tables["Means"]
    assert head == ["run", "nDCG@10", "AP", "µAP", "rankDCG", "F@10"]
    assert bm25[:3] == ["bm25", "0.5903", "0.6096"]
    assert dense[:3] == ["dense", "0.6720", "0.4980▼ significantly worse than bm25"]
    one = report.comparison.find("dense", "AP")
    row = next(row for row in page.tables["Differences from bm25"] if row[:2] == ["dense", "AP"])
    assert f"[{one.low:.4f}, {one.high:.4f}]" in row
    for m, metric in enumerate(report.values.metrics):
        of_queries = zip(report.results.queries, report.values.values[:, m].T.tolist(), strict=True)
        assert page.tables[metric.display] == [
            ["query", "bm25", "dense", "hybrid"],
            *([q, *("-" if value != value else f"{value:.4f}" for value in row)] for q, row in of_queries),
        ]
    # coverage and how it was made
    assert page.tables["Coverage"][2] == [
        *("dense", "48 of 50", "1,200", "413 of 587", "0.8333", "0.7250", "0.6000", "0.5700")
    ]
    assert "over the queries that the run has" in html
    inputs = {row[0]: row[1:] for row in page.tables["Input"]}
    assert inputs["qrels"] == [QRELS, hashlib.sha256(Path(QRELS).read_bytes()).hexdigest()]
    assert inputs["dense"] == [RUNS[1], hashlib.sha256(Path(RUNS[1]).read_bytes()).hexdigest()]
    assert f"gradeval {gradeval.__version__}, Python " in html
    assert "nDCG@10 AP muAP rankDCG F@10" in page.texts["dd"]
    signature = next(text for text in page.texts["dd"] if "|" in text)
    assert signature.startswith("nDCG@10|gain:linear|rel:>0|ties:trec|")
    assert "dense: 2 judged queries are not in the run ('408', '429'), counted as 0" in page.texts["li"]


def test_the_policy_allows_this_script_and_style_only(html: str, page: Page) -> None:
    [policy] = [of["content"] for _, of in page.elements if of.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    [style], [*_, script] = page.texts["style"], page.texts["script"]
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hashed(script)
    assert rules["style-src"] == hashed(style)
    for name, of in page.elements:
        assert not [key for key in of if key.startswith("on") or key in ("style", "src", "href")], name
    # namespaces of SVG are no addresses
    assert set(re.findall(r"\w+://[\w./]*", html)) == {"http://www.w3.org/2000/svg"}


def test_names_and_bytes_stay_text(tmp_path: Path) -> None:
    """In ids, titles, names of files and of runs, parameters, and the data of the script."""
    qrels, runs = (
        tmp_path / "<img src=x onerror=alert(1)>",
        {"</script>": tmp_path / "<b>.run", '"onload="x': tmp_path / 'a"b.run'},
    )
    names = [name.replace(" ", "_") for name in HOSTILE]
    qrels.write_text("".join(f"{q} 0 {d} {i % 3}\n" for q in names for i, d in enumerate(names)))
    for run in runs.values():
        run.write_text("".join(f"{q} Q0 {d} 1 {i} t\n" for q in names for i, d in enumerate(names)))
    titles = {name: f"</title></script><b>{name}" for name in names}
    found = gradeval.report(qrels, runs, "nDCG@10", text=titles, title="</title><script>alert(5)</script>")
    html = found.render()
    page = Page(html)
    assert page.open == []
    kinds = {name for name, _ in page.elements}
    assert not kinds & {"img", "i"}
    assert not [of for _, of in page.elements if {"onerror", "onload"} & set(of)]
    assert [name for name, _ in page.elements].count("script") == 3
    assert page.texts["title"] == page.texts["h1"] == ["</title><script>alert(5)</script>"]
    assert [row[0] for row in page.tables["nDCG@10"][1:]] == [
        name.replace("\u202e", "\\u202e") for name in names
    ]
    data = data_of(html)
    assert data["queries"].split("\t") == [name.replace("\u202e", "\\u202e") for name in names]
    assert set(data["explained"]["documents"][0].split("\t")) == set(data["queries"].split("\t"))
    # bytes that are no text
    (tmp_path / "q").write_bytes(b"\xff\xfe 0 d\xe9 1\n")
    (tmp_path / "r").write_bytes(b"\xff\xfe Q0 d\xe9 1 1 t\n")
    html = gradeval.report(tmp_path / "q", tmp_path / "r", "AP").render()
    assert html.encode()
    assert Page(html).tables["AP"][1] == ["\\udcff\\udcfe", "1.0000"]
    assert data_of(html)["explained"]["documents"] == ["d\\udce9"]
    assert data_of(html)["queries"] == "\\udcff\\udcfe"


def test_the_data_are_those_of_explain(report: Report, html: str) -> None:
    """Of each document that is shown, the numbers are those that gradeval explain prints."""
    explained, r = data_of(html)["explained"], 1
    for metric in ("nDCG@10", "AP", "muAP", "F@10"):
        m = report.values.metric(metric)
        for query in list(report.explained)[:4]:
            [explanation] = gradeval.explain(QRELS, RUNS[r], metric, query)
            q = explained["queries"].index(list(report.values.queries).index(query))
            names = explained["documents"][q].split("\t")
            run = q * len(RUNS) + r
            parts = {name: part[run * len(report.specs) + m] for name, part in explained["tables"].items()}
            shown = [names[int(d)] for d in parts["rows"].split()]
            ranks, scores = (explained[name][run].split("\t") for name in ("ranks", "scores"))
            adds = dict(zip(names, parts["adds"].split("\t"), strict=False))
            added = {document.id: value for document, value in explanation.contributions.items()}
            documents = {document.id: document for document in explanation.documents}
            first = [document.id for document in explanation.ranked[:10]]
            assert shown[: len(first)] == first
            for name, rank, score in zip(names, ranks, scores, strict=True):
                document = documents.get(name)
                assert rank == str(document.rank if document and document.rank else "-")
                assert float(adds.get(name) or 0) == pytest.approx(added.get(name, 0.0), abs=5e-8)
                if name in shown:
                    assert score == ("" if document.score is None else f"{document.score:.4f}")
            text = explanation.render("md", ranks=10).replace("\\", "")
            assert parts["sums"] in text
            if metric == "nDCG@10":
                terms = {term.document.id: f"{term.gain:.4f}" for term in explanation.terms if term.document}
                gains = parts["gain"] or "\t" * (len(shown) - 1)
                assert gains.split("\t") == [terms.get(name, "") for name in shown]


def test_intervals_and_p_are_those_of_the_comparison(report: Report, html: str) -> None:
    data = data_of(html)
    one = report.comparison.find("dense", "nDCG@10")
    p = f"p {one.p:.4f}, corrected p {one.p_corrected:.4f}"
    assert data["compared"]["0 1 0"] == f", 95 % interval [{one.low:.4f}, {one.high:.4f}], {p}"
    assert data["compared"]["1 0 0"] == f", 95 % interval [-{one.high:.4f}, -{one.low:.4f}], {p}"
    # dense and hybrid are compared with bm25, not with each other
    assert {key[:3] for key in data["compared"]} == {"0 1", "1 0", "0 2", "2 0"}
    assert data["intervals"] == [
        [pair.low, pair.estimate, pair.high, bool(pair.verdict)] for pair in report.comparison.comparisons
    ]
    # of one query there is no interval, so none is said or drawn
    run, other = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}
    data = data_of(gradeval.report({"q": {"a": 1}}, {"run": run, "other": other}, "AP").render())
    assert data["compared"] == {"0 1 0": "", "1 0 0": ""}
    assert data["intervals"] == [[]]


def test_bounds_are_those_of_the_comparison() -> None:
    html = gradeval.report(QRELS, RUNS[:2], "nDCG@10 tau", bounds=True, explain=0).render()
    data, page = data_of(html), Page(html)
    [pair, other] = gradeval.compare(QRELS, RUNS[:2], "nDCG@10 tau", bounds=True).comparisons
    lower, upper = pair.missing.lower_bound, pair.missing.upper_bound
    assert data["bounds"] == [[lower, upper], []] and other.missing.bounds is None
    assert data["compared"]["0 1 0"].endswith(f", with missing judgments {lower:+.4f} to {upper:+.4f}")
    assert data["compared"]["1 0 0"].endswith(f", with missing judgments {-upper:+.4f} to {-lower:+.4f}")
    head, row, _ = page.tables["Differences from bm25"]
    assert row[head.index("bounds")] == f"{lower:+.4f} to {upper:+.4f}"
    says = "there is 1 run, and bounds are of differences"
    raises(OptionError, says, gradeval.report, QRELS, RUNS[0], "nDCG@10", bounds=True)


def test_one_run() -> None:
    found = gradeval.report(QRELS, RUNS[0], "nDCG@10")
    page = Page(found.render())
    values = found.values.values[0, 0]
    half = 2.00957524 * values.std(ddof=1) / np.sqrt(len(values))  # t of 49 degrees of freedom
    assert page.tables["Means of bm25"] == [
        ["metric", "mean", "95 % interval"],
        ["nDCG@10", "0.5903", f"[{values.mean() - half:.4f}, {values.mean() + half:.4f}]"],
    ]
    assert "select" in [name for name, _ in page.elements]
    assert not [of for _, of in page.elements if of.get("id") in ("run", "baseline", "kind")]
    found = gradeval.report(QRELS, RUNS[:2], "nDCG@10", explain=0)
    assert Page(found.render(digits=2)).tables["nDCG@10"][1] == ["401", "0.28", "0.16"]
    exact = found.results.per_query("bm25", "nDCG@10")["401"]
    assert Page(found.render(digits="full")).tables["nDCG@10"][1][1] == repr(exact)
    # intervals of several runs
    for method in ("t", "bootstrap"):
        options = {"interval": method, "query_ids": "401,402,403,404,405"}
        report = gradeval.report(QRELS, RUNS[:2], "nDCG@10 AP", explain=0, **options)
        page = Page(report.render())
        rows = [["run", "nDCG@10", "AP"]]
        for run in report.values.runs:
            ends = [report.results.interval(run, metric, method=method) for metric in ("nDCG@10", "AP")]
            rows.append([run, *(f"[{low:.4f}, {high:.4f}]" for low, high in ends)])
        assert page.tables["95 % intervals of the means"] == rows
    assert any("over queries (bootstrap, BCa)" in text for text in page.texts["p"])


@pytest.mark.slow
def test_the_bytes_depend_on_the_input_only() -> None:
    """In another process, in which strings have other hashes, they are the same."""
    given = (QRELS, RUNS[0], "nDCG@5 F@5")
    code = f"import gradeval, sys; sys.stdout.write(gradeval.report(*{given}, query_ids='401,402').render())"
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == gradeval.report(*given, query_ids="401,402").render()


@pytest.mark.slow
def test_a_page_is_small() -> None:
    """By what each further query adds, 5 runs of 200 queries and 5 metrics are less than 1 MB."""
    rng = np.random.default_rng(1)
    judged: dict[str, Any] = {}
    runs: list[dict[str, Any]] = [{} for _ in range(5)]
    for q in map(str, range(401, 407)):
        names = [f"LA{rng.integers(10**6):06d}-{rng.integers(10**4):04d}" for _ in range(100)]
        judged[q] = {name: int(rng.choice([0, 1, 2, 3], p=[0.7, 0.17, 0.09, 0.04])) for name in names[:60]}
        for run in runs:
            run[q] = {name: round(float(rng.normal(judged[q].get(name, -1), 2.2)), 4) for name in names}
    metrics = "muAP NDCNG@10 nDCGphi@10 nDCG@10 AP"
    few, all_six = (
        len(gradeval.report(judged, runs, metrics, query_ids=ids).render().encode())
        for ids in (["401", "402"], list(judged))
    )
    assert few + (200 - 2) * (all_six - few) / 4 < 1_000_000


JUDGED = {"q1": {"a": 3, "b": 2, "c": 1, "d": 0}, "q2": {"a": 1, "e": 0, "f": 2}, "q3": {"g": 1}}
FIRST = {"q1": {"a": 3.0, "x": 2.0, "c": 1.0}, "q2": {"e": 2.0, "a": 1.0}, "q3": {"g": 1.0}}
SECOND = {"q1": {"b": 3.0, "a": 2.0, "d": 1.0}, "q2": {"f": 2.0}}
BOTH = {"first": FIRST, "second": SECOND}


def reported(metrics: str = "nDCG@3 AP", runs: object = None, **options: object) -> Report:
    return gradeval.report(JUDGED, BOTH if runs is None else runs, metrics, **options)


def test_the_queries_and_documents_that_are_explained() -> None:
    assert list(reported().explained) == ["q1", "q2", "q3"]
    # of two runs, the ten documents with the largest differences are among those of the query
    judged = {"q": {f"d{n}": 1 for n in range(60)}}
    ahead = {"q": {f"d{n}": 60.0 - n for n in range(60)}}
    behind = {"q": {"x": 99.0} | {f"d{n}": 60.0 - n for n in range(50)}}
    found = gradeval.report(judged, [ahead, behind], "AP")
    names = {name for name, _ in found.explained["q"].documents}
    assert {f"d{n}" for n in range(50, 60)} < names
    assert found.explained["q"].values[0][0].is_partial
    # those on which the runs differ most by the first metric, in their order; of one run, the worst
    spread = {query: abs(values[0] - values[1]) for query, values in _values(reported()).items()}
    by_spread = sorted(spread, key=lambda query: -spread[query])
    assert list(reported(explain=2).explained) == sorted(by_spread[:2])
    values = {query: of[0] for query, of in _values(reported(runs=FIRST)).items()}
    assert list(reported(runs=FIRST, explain=1).explained) == [min(values, key=values.__getitem__)]
    assert dict(reported(explain=0).explained) == {}


def test_with_queries_both_a_query_of_any_run_counts() -> None:
    judged = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    found = gradeval.report(judged, [{"q1": {"a": 1}}, {"q1": {"a": 1}, "q2": {"b": 1}}], "AP", queries="both")
    assert found.values.queries == ("q1", "q2")


def _values(found: Report) -> dict[str, list[float]]:
    return dict(zip(found.values.queries, found.values.values[:, 0].T.tolist(), strict=True))


def test_the_foot_says_whether_it_contains_judgments_and_rankings() -> None:
    judged, run = {"q1": {"DOC1": 2, "DOC2": 1}}, {"q1": {"DOC1": 7.75, "DOC3": 6.25}}
    texts: dict[str, Any] = {"text": {"DOC1": "A title"}, "queries_text": {"q1": "What was asked"}}
    secret = "DOC", "7.75", "6.25", "A title", "What was asked"
    for explain, number, says in (
        (
            1,
            len(secret),
            "contains judgments and rankings: the ids, grades, ranks and scores of documents of 1 query. ",
        ),
        (0, 0, "This page contains no judgments and no rankings."),
    ):
        html = gradeval.report(judged, {"run": run}, "muAP nDCG@3 F@3", explain=explain, **texts).render()
        everything = html + json.dumps(data_of(html))
        assert sum(text in everything for text in secret) == number
        assert says in Page(html).texts["p"][-1]
        assert ("--explain 0" in html) == (explain > 0)


def test_errors() -> None:
    for options, message in (
        ({"title": 1}, "title must be a string"),
        ({"explain": -1}, "explain must be an integer from 0"),
    ):
        raises(OptionError, message, reported, **options)
    for runs in (BOTH, FIRST):
        raises(GradevalError, r"^gm_map has no value for each query", reported, "gm_map", runs=runs)
    with pytest.raises(OptionError, match=r"^there is 1 run, which has no pairs\. Leave out --all-pairs"):
        reported("AP", runs=FIRST, all_pairs=True)
    assert repr(reported()) == "Report(runs=2, metrics=2, queries=3, notices=3)"
