"""The history: what eval and gate append, what is read of it, gates against its median, and its picture."""

import importlib.util
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from cli.command import fails, gradeval, query_ids, write_graded
from helpers import each_row, raises

import gradeval as package
from gradeval import InputError, MetricError
from gradeval.commands.history.history import Window, read_history
from gradeval.formats.output import AppendedFile

FILE = "history.jsonl"
MEMBERS = "run query metric value low high n judged bound signature verdict".split()
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


@pytest.fixture(autouse=True)
def graded(folder: Path) -> None:
    write_graded(query_ids(60), {"good": 1, "same": 1, "bad": 9})


def objects(path: str = FILE) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def log(*values: float, run: str = "night", path: str = FILE, **more: Any) -> None:
    with open(path, "a") as file:
        for value in values:
            line = {"run": run, "query": "all", "metric": "AP", "value": value, **more}
            file.write(json.dumps(line) + "\n")


def test_what_is_appended() -> None:
    """The lines of -f jsonl with more members, whatever is printed; a log of -f jsonl is a history too."""
    call = ["qrels", "night=good.run", "-m", "AP nDCG@10 num_q runid", "--label", "build=7", "--quiet"]
    printed = gradeval(*call, "-f", "jsonl").out
    for form in ("table", "jsonl"):
        done = gradeval(*call, "--history", FILE, "-f", form)
        assert (done.code, done.err) == (0, "")
    logged = [json.loads(line) for line in printed.splitlines()[:3]]
    assert [list(line) for line in objects()] == [["time", "build", *MEMBERS]] * 6
    assert [{name: line[name] for name in logged[0]} for line in objects()] == logged * 2
    first = objects()[0]
    assert first["low"] < first["value"] < first["high"]
    assert (first["n"], first["judged"], first["verdict"]) == (60, 1.0, None)
    assert first["signature"].startswith("AP|rel:>0|") and "qrels:sha256:" in first["signature"]
    Path("log").write_text(printed * 3)
    of_log, of_history = read_history("log"), read_history(FILE)
    assert [mean.entry for mean in of_log] == [0] * 3 + [1] * 3 + [2] * 3
    assert [(mean.value, mean.metric) for mean in of_log[:6]] == [
        (mean.value, mean.metric) for mean in of_history
    ]
    # values of queries, and means of groups, are not read
    Path("groups").write_text("".join(f"{query}\tg\n" for query in query_ids(60)))
    text = gradeval("qrels", "good.run", "-m", "AP", "-q", "--by", "groups", "-f", "jsonl", "--quiet").out
    Path("long").write_text(text)
    assert (len(text.splitlines()), len(read_history("long"))) == (62, 1)


def append_often(path: str, name: str) -> None:
    file = AppendedFile(path, (), "--history")
    for number in range(40):
        file.append(f'"{name} {number} {"x" * 3000}"\n'.encode() * 2)


def test_no_append_is_lost() -> None:
    """Of several processes; lines are whole, and those of one append are together."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=append_often, args=(FILE, name)) for name in "abcd"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lines = [json.loads(line) for line in Path(FILE).read_text().splitlines()]
    assert len(lines) == 4 * 40 * 2
    assert lines[::2] == lines[1::2]
    assert len(set(lines)) == 4 * 40


def test_a_truncated_line() -> None:
    """It is an error with its number where it is read, and the next append begins a line of its own."""
    log(0.5, 0.6)
    with open(FILE, "a") as file:
        file.write('{"time": "2026-')
    assert gradeval("qrels", "good.run", "-m", "AP", "--history", FILE, "--quiet").code == 0
    assert len(Path(FILE).read_text().splitlines()) == 4
    message = f"{FILE}:3: not valid JSON"
    assert fails("plot", "history", FILE).startswith(message)
    assert fails("gate", "qrels", "good.run", "--max-drop", "AP 1%", "--history", FILE).startswith(message)
    assert len(Path(FILE).read_text().splitlines()) == 4


def gate(run: str, *args: object, code: int) -> Any:
    done = gradeval("gate", "qrels", run, "--history", FILE, "--max-drop", "AP 2%", *args)
    assert done.code == code, done
    return done


def test_the_median_of_a_window_is_the_baseline() -> None:
    """Of the lines of the run's name that held; what a gate finds is appended, with its verdict and bound."""
    assert "0 lines of night that held, and a median needs 3" in gate("night=good.run", code=2).out
    assert objects()[-1]["verdict"] == "error"
    value = objects()[-1]["value"]
    for _ in range(3):
        gradeval("qrels", "night=good.run", "-m", "AP", "--history", FILE, "--quiet")
    log(*[9.0] * 5, run="other")
    log(*[9.0] * 5, verdict="failed")
    done = gate("night=same.run", code=0)
    assert "signatures" not in done.err
    assert (objects()[-1]["verdict"], objects()[-1]["bound"]) == ("held", pytest.approx(0.98 * value))
    gate("night=bad.run", code=1)
    assert objects()[-1]["verdict"] == "failed"
    # the last lines only, here two of four; lines with another signature count, with a warning
    log(0.1, 0.1, signature="AP|rel:2")
    done = gate("night=bad.run", "--window", "3", "-f", "json", "--quiet", code=0)
    [check] = json.loads(done.out)["checks"]
    assert (check["baseline_mean"], check["bound"]) == (0.1, pytest.approx(0.098))
    assert check["median"] == {"history": FILE, "lines": 3}
    done = gate("night=bad.run", "--window", "4", "--baseline", "good.run", code=0)
    compared = f"AP: max-drop compares with the median of 4 lines of {FILE}."
    assert f"Run night (bad.run), qrels qrels.\n{compared}" in done.out
    assert "warning: night: 2 lines of the history, of the 4 that AP is compared with, have another" in done.err
    # checks by query need a baseline, which --max-drop uses too where there is no --window
    assert "Add --baseline RUN" in fails("gate", "qrels", "good.run", "--history", FILE, "--no-worse", "AP")
    gate("night=same.run", "--baseline", "good.run", "--no-worse", "AP", code=0)
    failed = gate("night=bad.run", "--window", "9", "--github", "--quiet", code=1)
    assert f" (from the median of 9 lines of {FILE}), margin -" in failed.err
    gate("night=bad.run", "--baseline", "good.run", code=1)


def test_a_history_is_filled_as_the_error_says() -> None:
    """A gate never starts by itself; --init writes the keys of one that compares with a history."""
    for _ in range(4):
        said = gate("night=good.run", code=2).out
    assert "history.jsonl has 0 lines of night that held" in said
    command = " ".join(said.split()).partition("; ")[2].partition(" adds one, and this gate none")[0]
    assert command == "gradeval QRELS NAME=RUN -m 'AP' --history FILE"
    gradeval("qrels", "night=good.run", "-m", "AP", "--history", FILE, "--quiet")
    for _ in range(2):  # a gate of --require, which holds
        gradeval("gate", "qrels", "night=good.run", "--require", "AP > 0", "--history", FILE, "--quiet")
    gate("night=same.run", code=0)
    written = gradeval("gate", "qrels", "good.run", "-m", "AP", "--init", "--quiet").out
    for key in ("max-drop = ", "history = ", "window = "):
        assert written.count(f"\n# {key}") == 1
        written = written.replace(f"\n# {key}", f"\n{key}")
    Path("gates.toml").write_text(written)
    for run, code in (("night=same.run", 0), ("night=bad.run", 1)):
        done = gradeval("gate", "qrels", run, "--config", "gates.toml", "--quiet")
        assert done.code == code and "compares with the median of" in done.out


def test_means_are_of_all_queries() -> None:
    """Of an evaluation by groups, and of a gate whose check is of a group: its verdict, but no bound."""
    Path("groups").write_text("".join(f"{query}\thead\n" for query in query_ids(60)[:20]))
    by = ["qrels", "good.run", "--by", "groups", "--history", FILE, "--quiet"]
    printed = gradeval("qrels", "good.run", "-m", "AP", "--quiet", "--digits", "full").out
    gradeval(*by, "-m", "AP")
    assert gradeval("gate", *by, "--require", "AP[head] >= 0.1").code == 0
    assert gradeval("gate", *by, "--require", "AP[head] >= 1").code == 1
    assert [line["value"] for line in objects()] == [float(printed.split()[-1])] * 3
    assert [(line["bound"], line["verdict"]) for line in objects()] == [
        (None, None),
        (None, "held"),
        (None, "failed"),
    ]


def test_bounds_are_on_the_worse_side() -> None:
    """An upper bound of a metric whose high values are better is none of a history."""
    checks = (
        "--require",
        "AP <= 1",
        "--require",
        "AP >= 0.1",
        "--require",
        "nDCG <= 1",
        "--require",
        "num_q <= 99",
    )
    gradeval("gate", "qrels", "good.run", *checks, "--history", FILE)
    bounds = {line["metric"]: line["bound"] for line in objects()}
    assert bounds == {"AP": 0.1, "nDCG": None, "num_q": None}


def test_a_gate_of_python_or_of_a_file_has_a_history() -> None:
    """The same lines as the command's, and the same verdicts; the path in a file is relative to it."""
    call = {"max_drop": "AP 2%", "history": Path(FILE)}
    good = {"night": "good.run"}
    assert package.gate("qrels", good, **call).exit_code == 2  # there are no lines yet
    assert package.gate("qrels", good, require="AP > 0", history=FILE).held
    Path("gates").mkdir()
    Path("gates/g.toml").write_text(f'max-drop = "AP 2%"\nhistory = "../{FILE}"\nwindow = 3\n')
    config = ("--config", "gates/g.toml", "--quiet")
    for _ in range(2):
        gradeval("qrels", "night=good.run", "-m", "AP", "--history", FILE, "--quiet")
    assert gradeval("gate", "qrels", "night=same.run", *config, "--label", "build=9").code == 0
    assert not package.gate("qrels", {"night": "bad.run"}, **call).held
    assert not package.gate("qrels", {"night": "bad.run"}, config="gates/g.toml").held
    # with a window a baseline is not what is compared with
    assert package.gate("qrels", {"night": "bad.run"}, **call, baseline="bad.run").held
    assert not package.gate("qrels", {"night": "bad.run"}, **call, baseline="bad.run", window=3).held
    assert len(objects()) == 9
    assert objects()[4]["build"] == "9"
    assert len({line["signature"] for line in objects()[:4]}) == 1
    options = {"require": "AP > 0"}
    raises(package.OptionError, "window requires history", package.gate, "qrels", good, **options, window=3)
    raises(
        package.OptionError, "window must be", package.gate, "qrels", good, **options, history=FILE, window=2
    )
    raises(
        package.OptionError, "one of the input files", package.gate, "qrels", good, **options, history="qrels"
    )
    raises(package.OptionError, "path of a file, not 3", package.gate, "qrels", good, **options, history=3)
    Path("wrong.toml").write_text('require = "AP > 0"\nwindow = 2\nhistory = "h"\n')
    assert "wrong.toml:2: window must be an integer from 3" in fails(
        "gate", "qrels", "good.run", "--config", "wrong.toml"
    )
    assert not Path("h").exists()


def test_absent_numbers_are_empty_fields() -> None:
    log(0.1, None)
    rows = [line.split(",") for line in gradeval("plot", "history", FILE, "-f", "csv").out.splitlines()]
    assert [dict(zip(rows[0], row, strict=True)) | {"time": ""} for row in rows[1:]] == [
        dict.fromkeys(rows[0], "")
        | {"run": "night", "metric": "AP", "entry": entry, "value": value, "segment": "1"}
        for entry, value in (("1", "0.1000"), ("2", "nan"))
    ]


def test_windows() -> None:
    log(0.1, 0.2, None, 0.4, 0.3)
    window = Window.of(read_history(FILE), "night", "AP", 3)
    assert (len(window.means), window.median) == (3, 0.3)


@each_row(
    ("[1]", "[1] is not a line of a history"),
    ('{"run": "a", "query": "all", "value": 1}', "the object has no metric"),
    ('{"run": 1, "query": "all", "metric": "AP", "value": 1}', "run must be a string, not 1"),
    ('{"run": "a", "query": "all", "metric": "AP", "value": true}', "value must be a finite number, not true"),
    ('{"run": "a", "query": "all", "metric": "AP", "value": "x"}', "value must be a finite number, not 'x'"),
    ('{"run": "a", "query": "all", "metric": "AP", "value": 1e400}', "value must be a finite number, not inf"),
    ('{"run": "a", "query": "all", "metric": "AP", "value": 1%s}' % ("0" * 400), "must be a finite"),
    ('{"run": "a", "query": "all", "metric": "AP", "value": NaN}', "NaN is not JSON"),
)
def test_wrong_lines(line: str, message: str) -> None:
    Path("wrong").write_text(f"\n{line}\n{line}\n")
    raises(InputError.__base__, "(?i)wrong:2: .*\n?.*wrong:3: ", read_history, "wrong")
    assert message.lower() in fails("plot", "history", "wrong").lower()


@each_row(
    (["qrels", "good.run", "--history", "qrels"], "--history qrels: it is one of the input files"),
    (["qrels", "good.run", "--history", "none/h"], "does not exist"),
    (["qrels", "good.run", "--history", "h.gz"], "cannot be appended to a compressed file"),
    (["qrels", "good.run", "--history", "h", "-o", "h"], "name the same file"),
    (["qrels", "good.run", "--history", "h", "--label", "n=1", "--label", "value=2"], "a member of this name"),
    (
        ["gate", "qrels", "good.run", "--require", "AP > 0", "--window", "5"],
        "--window requires --history",
    ),
    (["gate", "qrels", "good.run", "--require", "AP > 0", "--junit", "h", "--history", "h"], "the same file"),
    (["gate", "qrels", "good.run", "--require", "coverage > 0", "--history", "h"], "all are of coverage"),
    (["gate", "qrels", "good.run", "--init", "--history", "h"], "mutually exclusive"),
    (["plot", "history", "qrels"], "qrels:1: not valid JSON"),
    (["plot", "history", "empty"], "empty: no means in the file"),
)
def test_errors(args: list[str], message: str) -> None:
    Path("empty").write_text("")
    assert message in fails(*args)
    assert not Path("h").exists()


def test_means_of_rankings() -> None:
    """Of checks without qrels, and beside those of metrics; plot history takes their names."""
    checks = ["--require", "RBO AO@5 > 0", "--require", "AO@5 > 0.1 in 50%", "--require", "AO@5 < 0.1"]
    runs = ["night=bad.run", "--baseline", "good.run"]
    judged = gradeval("gate", *runs, *checks, "--history", FILE, "-f", "json")
    rbo, ao, *_ = json.loads(judged.out)["checks"]
    report = package.gate(
        "qrels", {"night": "bad.run"}, baseline="good.run", require=["RBO >= 1", "AP >= 1"], history=FILE
    )
    written = [
        [line[name] for name in ("run", "metric", "value", "n", "bound", "verdict")] for line in objects()
    ]
    assert written[:2] == [
        ["night", "RBO", rbo["value"], 60, 0.0, "failed"],
        ["night", "AO@5", ao["value"], 60, 0.0, "failed"],
    ]
    assert report.subject == {"run": "night (bad.run)", "baseline": "good.run", "qrels": "qrels"}
    ap, of_rankings = written[2:]
    assert ap[1:3] == ["AP", report.outcomes[1].value] and of_rankings == [*written[0][:4], 1.0, "failed"]
    picture = package.plot.history(FILE, "rbo map")
    assert [panel.title for panel in picture.panels] == ["RBO", "AP"]


def test_the_picture(tmp_path: Path) -> None:
    log(0.5, 0.6, 0.7, low=0.4, high=0.8, signature="AP|rel:>0|n:5")
    log(0.2, signature="AP|rel:2|n:5", bound=0.1)
    log(0.3, 0.4, run="other")
    log(7, run="other", metric="from another tool")
    done = gradeval("plot", "history", FILE)
    assert done.code == 0
    assert "rel:2 was rel:>0" in done.out
    assert any("|" in line and "night" in line and "0.1000" in line for line in done.out.splitlines())
    rows = gradeval("plot", "history", FILE, "-f", "tsv", "-m", "map", "--last", "3").out.splitlines()
    assert [" ".join(row.split("\t")[:3]) for row in rows[1:]] == [
        "night AP 3",
        "night AP 4",
        "other AP 4",
        "other AP 5",
    ]
    picture = package.plot.history(FILE)
    assert [panel.title for panel in picture.panels] == ["AP", "from another tool"]
    assert [row[-1] for row in picture.table("history").rows if row[0] == "night"] == [1, 1, 1, 2]
    raises(MetricError, "RR is not in", package.plot.history, FILE, "RR")
    if HAS_MATPLOTLIB:
        assert picture.image("svg")[0] == package.plot.history(FILE).image("svg")[0]
