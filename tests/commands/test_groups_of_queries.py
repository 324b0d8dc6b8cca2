"""Groups of queries in eval, gate and report; the spread of queries over runs."""

import json
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median

import pytest
from cli.command import fails, gradeval, write_graded

QUERIES = [f"q{n}" for n in range(30)]
HEAD, TAIL = QUERIES[:9], QUERIES[9:28]


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    write_graded(QUERIES, {"a": 3, "b": 5, "c": 8}, 4)
    rows = [(query, "head") for query in HEAD] + [(query, "tail") for query in (*TAIL, "other")]
    Path("groups").write_text("".join(f"{query}\t{group}\n" for query, group in rows))
    Path("weights").write_text("".join(f"{query}\t{1 + n % 3}\n" for n, query in enumerate(QUERIES)))


def rows_of(*args: str) -> list[dict[str, str]]:
    head, *rows = (line.split("\t") for line in gradeval(*args, "--quiet", "--digits", "full").out.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def values_of(run: str) -> dict[str, float]:
    rows = rows_of("qrels", f"{run}.run", "-m", "AP", "-q", "-n")
    return {row["query"]: float(row["value"]) for row in rows}


def test_means_of_groups() -> None:
    """They are those of an evaluation of these queries alone, weighted too."""
    for more in ([], ["--query-weights", "weights"], ["--interval"]):
        rows = rows_of("qrels", "a.run", "b.run", "-m", "AP nDCG@5", "--by", "groups", *more)
        for group, ids in (("all", QUERIES), ("head", HEAD), ("tail", TAIL)):
            alone = rows_of("qrels", "a.run", "b.run", "-m", "AP nDCG@5", "--query-ids", ",".join(ids), *more)
            assert [row for row in rows if row["group"] == group] == [{"group": group, **row} for row in alone]
    done = gradeval("qrels", "a.run", "-m", "AP", "--by", "groups")
    assert "2 queries are in no group" in done.err and "[ungrouped]" in done.err
    assert "not among those evaluated, ignored [unknown_grouped]" in done.err
    Path("lacking.run").write_text("".join(f"{query} Q0 d0 1 1 t\n" for query in QUERIES[:29]))
    counted = gradeval("qrels", "lacking.run", "-m", "AP", "--by", "groups", "--queries", "both")
    assert "1 query is in no group" in counted.err  # the other one does not count
    content = json.loads(gradeval("qrels", "a.run", "-m", "AP", "--by", "groups", "-f", "json", "--rank").out)
    assert [(part["group"], part["queries"]) for part in content["groups"]] == [("head", 9), ("tail", 19)]
    assert content["groups"][0]["runs"][0]["rank"] == 1
    table = gradeval("qrels", "a.run", "-m", "AP", "--by", "groups", "-f", "table", "--quiet").out
    assert "head: 9 queries" in table and "tail: 19 queries" in table
    lines = gradeval("qrels", "a.run", "-m", "AP", "--by", "groups", "-f", "jsonl", "--quiet").out.splitlines()
    assert [json.loads(line)["group"] for line in lines] == ["all", "head", "tail"]
    Path("nowhere").write_text("x\thead\n")
    none = "nowhere: none of their queries is among those that are evaluated. Check the query ids"
    for command in [], ["compare"], ["gate", "--require", "AP[head] >= 0"]:
        runs = ["b.run"] if command == ["compare"] else []
        done = gradeval(*command[:1], "qrels", "a.run", *runs, *command[1:], "--by", "nowhere")
        assert (done.code, done.lines[0]) == (2, none)
    for more in ("-n -q", "-q --wide", "-f trec"):
        assert "--by and " in fails("qrels", "a.run", "--by", "groups", *more.split())


def test_weights_of_unknown_queries_are_a_note() -> None:
    Path("more").write_text(Path("weights").read_text() + "zz\t1\n")
    done = gradeval("qrels", "a.run", "-m", "AP", "--query-weights", "more")
    note = "note: more: 1 query with a weight is not judged, ignored: 'zz' [unknown_weighted]"
    assert done.code == 0 and note in done.lines
    assert "[unknown_weighted]" not in gradeval("qrels", "a.run", "--query-weights", "weights").err


def test_the_spread_over_runs() -> None:
    by_run = {run: values_of(run) for run in "abc"}
    for row in rows_of("qrels", "a.run", "b.run", "c.run", "-m", "AP", "--spread"):
        of_query = {run: values[row["query"]] for run, values in by_run.items()}
        assert float(row["lowest"]) == min(of_query.values()) == of_query[row["lowest_run"]]
        assert float(row["highest"]) == max(of_query.values()) == of_query[row["highest_run"]]
        assert float(row["median"]) == median(of_query.values())
    args = ["qrels", "a.run", "b.run", "-m", "AP", "--spread", "--quiet"]
    assert len(json.loads(gradeval(*args, "-f", "json").out)["spread"]) == len(QUERIES)
    assert gradeval(*args, "-f", "table").out.startswith("AP over 2 runs\nquery  lowest  run")
    assert fails("qrels", "a.run", "--spread") == (
        "gradeval: --spread is over two runs or more. Try 'gradeval --help'."
    )
    assert "--spread prints nothing else" in fails(*args, "-q")


def test_checks_of_groups() -> None:
    said = "'AP[all] >= 0.1': the mean over all queries needs no brackets, as in 'AP >= 0.1'"
    assert said in gradeval("gate", "qrels", "a.run", "--require", "AP[all] >= 0.1").err
    assert '# by = "groups.tsv"' in gradeval("gate", "qrels", "a.run", "--init").out
    mean = {
        group: fmean(values_of("a")[query] for query in ids) for group, ids in (("head", HEAD), ("tail", TAIL))
    }
    for group, value in mean.items():
        for bound, code in ((value - 0.001, 0), (value + 0.001, 1)):
            check = f"AP[{group}] >= {bound}"
            assert gradeval("gate", "qrels", "a.run", "--by", "groups", "--require", check).code == code
    checks = ["--max-drop", "AP[head] 1%", "--no-worse", "AP[tail]", "--max-query-drop", "AP[head] 0.9"]
    checks += ["--non-inferior", "AP[tail] 0.9", "--require", "coverage[head] >= 0.9"]
    done = gradeval("gate", "qrels", "a.run", "--baseline", "a.run", "--by", "groups", *checks, "-f", "json")
    outcomes = json.loads(done.out)["checks"]
    assert done.code == 0 and [one["group"] for one in outcomes] == ["head", "head", "tail", "tail", "head"]
    assert {one["check"]: one["n"] for one in outcomes}["no-worse AP[tail]"] == len(TAIL)
    Path("lacking.run").write_text(
        "".join(line for line in Path("a.run").read_text().splitlines(True) if line.split()[0] not in HEAD[:3])
    )
    done = gradeval(
        "gate", "qrels", "lacking.run", "--by", "groups", "--require", "coverage[head] >= 0.9", "-f", "json"
    )
    [outcome] = json.loads(done.out)["checks"]
    assert (done.code, outcome["value"], outcome["n"]) == (1, 6 / 9, 9)
    assert [one["query"] for one in outcome["worst"]] == HEAD[:3]
    Path("gates.toml").write_text('require = "AP[head] >= 0.1"\nby = "groups"\n')
    assert gradeval("gate", "qrels", "a.run", "--config", "gates.toml").code == 0
    said = fails("gate", "qrels", "a.run", "--require", "AP[head] >= 0.1")
    assert "'AP[head] >= 0.1' is of a group of queries. Add --by FILE" in said
    said = fails("gate", "qrels", "a.run", "--by", "groups", "--require", "AP[x] >= 0.1")
    assert "no query is in such a group: there are head, tail" in said


def test_the_coverage_of_groups() -> None:
    """What another group lacks keeps no check from being judged; a check of coverage is of its own group."""
    lines = Path("a.run").read_text().splitlines(True)
    Path("lacking.run").write_text("".join(line for line in lines if line.split()[0] not in HEAD[:3]))

    def verdicts(*checks: str, more: str = "", run: str = "lacking.run") -> list[str]:
        requires = [part for check in checks for part in ("--require", check)]
        done = gradeval("gate", "qrels", run, "--by", "groups", *requires, *more.split(), "-f", "json")
        return [outcome["verdict"] for outcome in json.loads(done.out)["checks"]]

    head, tail, both = "AP[head] >= 0", "AP[tail] >= 0", "AP >= 0"
    assert verdicts(head, tail, both) == ["error", "held", "error"]
    assert verdicts(head, both, "coverage[head] >= 0.5") == ["held", "error", "held"]
    assert verdicts(head, both, "coverage >= 0.5") == ["held", "held", "held"]
    assert verdicts(head, "coverage >= 0.5", more="--min-coverage 67") == ["error", "held"]
    assert verdicts("RBO[head] >= 0", "RBO[tail] >= 0", more="--baseline a.run") == ["error", "held"]
    done = gradeval("gate", "qrels", "lacking.run", "--by", "groups", "--require", head)
    lacks = "lacking has 6 of 9 judged queries in head (66.67 %), fewer than --min-coverage 100 %; it lacks q0"
    assert lacks in " ".join(done.out.split())
    # the first query has one grade, and no relevant document
    rows = [line.split() for line in Path("qrels").read_text().splitlines()]
    Path("qrels").write_text("".join(f"{q} 0 {d} {0 if q == 'q0' else grade}\n" for q, _, d, grade in rows))
    assert verdicts("tau[head] >= -1", "tau[tail] >= -1", run="a.run") == ["error", "held"]
    assert verdicts(head, tail, more="--no-relevant skip", run="a.run") == ["held", "held"]


def test_worst_queries_of_each_group() -> None:
    checks = ["--require", "AP[tail] >= 1", "--require", "AP[head] >= 1", "--require", "AP[head] > 0.999"]
    command = ["gate", "qrels", "c.run", "--by", "groups", *checks, "--worst", "2", "--quiet"]
    done = gradeval(*command, "-f", "tsv", "--github")
    values = values_of("c")
    listed = [
        (f"AP[{group}]", query)
        for group, ids in (("tail", TAIL), ("head", HEAD))
        for query in sorted(ids, key=lambda query: (values[query], query))[:2]
    ]
    table = done.out.partition("\n\n")[2].splitlines()[1:]
    assert [tuple(line.split("\t")[:2]) for line in table] == listed
    said = [line.partition("worst queries: ")[2] for line in done.lines if "worst queries" in line]
    assert said == [f"{listed[0][1]}, {listed[1][1]}", f"{listed[2][1]}, {listed[3][1]}"]
    assert "\nAP[head]  q" in gradeval(*command).out


def test_a_group_has_no_coverage_where_it_is_unknown_what_a_run_lacks() -> None:
    lines = Path("a.run").read_text().splitlines(True)
    Path("lacking.run").write_text("".join(line for line in lines if line.split()[0] in TAIL[-8:]))
    assert gradeval("qrels", "lacking.run", "-q", "-f", "json", "-o", "saved.json").code == 0
    check = ["--by", "groups", "--require", "coverage[tail] >= 0.3"]  # 8 of 19
    assert gradeval("gate", "qrels", "lacking.run", *check).code == 0
    done = gradeval("gate", "qrels", "saved.json", *check)
    assert done.code == 2 and "does not name all queries that the run lacks" in done.out


def test_worst_queries_have_something_relevant() -> None:
    with open("qrels", "a") as file:
        file.write("q00 0 d1 0\nq01 0 d1 0\n")
    done = gradeval("gate", "qrels", "a.run", "--require", "AP >= 1", "--min-coverage", "50", "-f", "json")
    worst = json.loads(done.out)["checks"][0]["worst"]
    assert len(worst) == 5 and not {"q00", "q01"} & {one["query"] for one in worst}


@pytest.mark.skipif(find_spec("jinja2") is None, reason="jinja2 is not installed")
def test_groups_on_the_page() -> None:
    for runs in (["a.run"], ["a.run", "b.run"]):
        assert gradeval("report", "qrels", *runs, "--by", "groups", "-o", "page.html").code == 0
        page = Path("page.html").read_text("utf-8")
        assert ("Means by group" if len(runs) == 1 else "head: Means, 9 queries") in page
