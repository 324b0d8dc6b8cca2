"""Options of reading: features, groups, columns, splits, patterns, passages; input that is wrong."""

import json
import os
import re
from pathlib import Path

import pytest
from helpers import each

from gradeval.formats.diagnostics import first_in

from .command import QRELS, RUN, dcg, fails, gradeval, values

pytestmark = pytest.mark.usefixtures("folder")


def test_columns() -> None:
    Path("ratings").write_text("who,what,stars\nq1,a,3\nq1,b,0\n")
    Path("predictions").write_text("who,what,guess\nq1,b,2\nq1,a,1\n")
    Path("renamed").write_text("query_id,doc_id,score\nq1,b,2\nq1,a,1\n")
    columns = "query=who,document=what,grade=stars"
    for run, more in (("predictions", ",score=guess"), ("renamed", "")):
        found = values("ratings", run, "--columns", columns + more, "-m", "AP", run=run)
        assert found == {("all", "AP"): 0.5}
    said = fails("ratings", "predictions", "-m", "AP", "--columns", "user=who")
    assert said.startswith("gradeval: columns must be some of query=NAME, document=NAME")
    # columns that no file has
    Path("usual").write_text("query_id,doc_id,grade\nq1,a,3\nq1,b,0\n")
    Path("renamed").write_text("user,item,prediction\nq1,b,2\nq1,a,1\n")
    for command in ("eval q renamed", "compare usual renamed renamed", "convert renamed - --to trec"):
        has = "'query_id', 'doc_id', 'grade'" if "usual" in command else "'user', 'item', 'prediction'"
        said = fails(*command.split(), "--columns", "query=user,document=itme")
        assert said.startswith("gradeval: columns: document=itme is no column of any table; ")
        assert said.rstrip().endswith(f" has {has}"), command
    assert gradeval("q", "renamed", "--columns", "query=user,document=item", "-m", "AP").code == 0
    said = fails("q", "-", "--columns", "document=itme", "-m", "AP", stdin="renamed")
    assert "document=itme is no column of any table; <stdin> has 'user'" in said


NAMED = "qid,docno,{}\nq1,b,2\nq1,a,1\n"
TREC_ONLY = "{0} is no column of any {1}; {2} has no named columns"


@each("line, error", [
    ("eval q r --columns document=x", "columns: " + TREC_ONLY.format("document=x", "table", "q")),
    ("eval q r --columns score=x", "columns: " + TREC_ONLY.format("score=x", "run", "r")),
    ("eval q r.csv --columns grade=x", "columns: " + TREC_ONLY.format("grade=x", "qrels", "q")),
    ("eval q.csv r --columns rank=docno", "columns: " + TREC_ONLY.format("rank=docno", "run", "r")),
    ("compare q r r.csv --columns query=x", "columns: query=x is no column of any table; r.csv has 'qid', "),
    ("eval q r.csv --split test", "split: no run is a predictions file of MTEB"),
    ("eval r.json r.json --split test", "split: no run is a predictions file of MTEB"),
    ("gate q r --baseline r.csv --require AP>=0 --split x", "split: no run is a predictions file of MTEB"),
    ("explain q r --query q1 -m AP --columns document=x", "columns: document=x is no column of any table"),
    ("estimate q r --model-qrels q --columns document=x", "columns: document=x is no column of any table"),
    ("pool q r --columns document=x", "columns: document=x is no column of any table"),
    ("study agreement q r r --columns document=x", "columns: document=x is no column of any table"),
    ("convert r - --to csv --columns document=x", "columns: " + TREC_ONLY.format("document=x", "table", "r")),
    ("convert r - --to csv --split x", "split: no run is a predictions file of MTEB"),
    ("validate q r --columns document=x", "columns: " + TREC_ONLY.format("document=x", "table", "q")),
    ("plot phi q --columns grade=x -f tsv", "columns: " + TREC_ONLY.format("grade=x", "qrels", "q")),
])  # fmt: skip
def test_options_that_no_file_can_use(line: str, error: str) -> None:
    Path("r.csv").write_text(NAMED.format("score"))
    Path("q.csv").write_text(NAMED.format("grade"))
    Path("r.json").write_text('{"q1": {"a": 1, "b": 2}}')
    assert fails(*line.split()).startswith(f"gradeval: {error}")


@each("line", [
    "eval q r r.csv --columns document=docno,score=score",  # one of them is enough
    "eval q.csv r --columns document=docno",
    "compare q r r.csv --columns score=score",
    "gate q r --baseline r.csv --require AP>=0 --min-coverage 0 --columns score=score",
    "eval q r lists --columns document=d,score=s",
    "eval q r mteb --split test",
    "validate q r.csv --columns score=score",
])  # fmt: skip
def test_options_that_a_file_can_use(line: str) -> None:
    Path("r.csv").write_text(NAMED.format("score"))
    Path("q.csv").write_text(NAMED.format("grade"))
    Path("lists").write_text('{"q1": [{"d": "a", "s": 1, "score": 2}, {"d": "b", "s": 2, "score": 1}]}')
    Path("mteb").write_text('{"mteb_model_meta": {}, "en": {"test": {"q1": {"a": 1, "b": 2}}, "dev": {}}}')
    assert gradeval(*line.split()).code == 0


def test_ranks_and_distances() -> None:
    """Of commands other than evaluations."""
    for name, last in (("position", "1\nq1,b,2"), ("distance", ".1\nq1,b,.2"), ("score,rank", "1,1\nq1,b,2,2")):
        Path(name).write_text(f"qid,docno,{name}\nq1,a,{last}\n")
    lowest = "the column 'distance' is a distance, of which the lowest comes first. "
    error = f"distance: {lowest}--columns distance=distance reads score = -distance"
    done = gradeval("convert", "position", "-", "--to", "csv")
    assert done.out == "query_id,doc_id,score\nq1,a,-1\nq1,b,-2\n"
    said = "there are no scores; documents are ranked by the column position, the lowest first"
    assert done.err == f"note: position: {said}\n"
    assert f"note: position: {said} [by_rank]" in gradeval("q", "position", "-m", "AP").lines
    assert "by_rank" not in gradeval("q", "position", "-m", "AP", "--columns", "rank=position").err
    assert fails("convert", "distance", "-", "--to", "csv") == error
    done = gradeval("convert", "distance", "-", "--to", "csv", "--columns", "distance=distance")
    assert (done.out, done.err) == ("query_id,doc_id,score\nq1,a,-0.1\nq1,b,-0.2\n", "")
    done = gradeval("convert", "score,rank", "-", "--to", "csv")
    assert done.err.startswith(
        "warning: score,rank: the rank column contradicts the scores in 1 of the first 1 query"
    )
    assert "[ranks]" in gradeval("explain", "q", "score,rank", "--worst", "1").err
    done = gradeval("validate", "q", "position", "score,rank", "distance")
    assert "  ranks      the column position instead of scores, the lowest first\n" in done.out
    assert "score,rank:3: warning: the rank rises with the score here, as in most lines" in done.out
    assert "  ranks      not in the order of the scores in 1 of 1 query, the reverse in 1: 'q1'\n" in done.out
    assert f"distance: error: {lowest}" in done.out
    # judged documents may have the ranks at which they stood
    Path("clicks").write_text("qid,docno,position,label\nq1,a,1,1\nq1,b,2,0\n")
    assert "clicks: qrels, 0 errors" in gradeval("validate", "clicks").out


def test_split_and_identical_ids() -> None:
    subsets = {"en": {"test": {"q1": {"a": 1, "b": 2}}}, "de": {"test": {"q1": {"a": 2}}}}
    Path("mteb").write_text(json.dumps({"mteb_model_meta": {}, **subsets}))
    Path("self").write_text('{"q1": {"q1": 9, "a": 1}}')
    for run, options, count in (
        ("mteb", "--split de", 1),
        ("self", "", 2),
        ("self", "--ignore-identical-ids", 1),
    ):
        found = values("q", run, *options.split(), "-m", "num_ret", run=run)
        assert found == {("all", "num_ret"): count}
    assert "the file has 'en/test', 'de/test'. Choose one with --split SUBSET/SPLIT" in fails("q", "mteb")


def test_directories_and_patterns() -> None:
    Path("runs").mkdir()
    for name in ("b.run", "a.txt", "c.json", ".hidden"):
        Path("runs", name).write_text("q1 Q0 a 1 1 t\nq2 Q0 f 1 1 t\n")
    for runs, command in (("runs", "eval"), ("runs/", "compare"), ("runs/*", "eval"), ("runs/*", "compare")):
        done = gradeval(command, "q", runs, "-m", "AP", "-f", "tsv", "--quiet")
        assert done.code == 0, done.err
        head, *rows = (line.split("\t") for line in done.out.splitlines())
        assert [row[head.index("run")] for row in rows] == ["a", "b", "c"][command == "compare" :]
        assert "runs/b.run" in fails("q", runs, "-o", "runs/b.run")
    assert fails("q", "runs/x*") == "runs/x*: no such file. Check the path"


def test_query_ids_from_standard_input() -> None:
    Path("ids").write_text("q1\n")
    for line in ("q r -m AP", "compare q r r -m AP", "gate q r --require AP>=0 -f tsv"):
        args = line.split()
        found = gradeval(*args, "--query-ids", "-", stdin="ids")
        assert "--query-ids" not in found.err
        assert found.out == gradeval(*args, "--query-ids", "q1").out
        said = fails(*("-" if word == "r" else word for word in args), "--query-ids", "-")
        assert said.startswith("gradeval: '-' can be given once only")


def test_features_and_groups() -> None:
    """Of the qrels themselves, or of another LETOR file."""
    for files in (["l"], ["l", "l"]):
        for feature in ("1", "2"):
            found = values(*files, "--feature", feature, "-m", "AP", run=f"feature{feature}")
            assert found == {("all", "AP"): 0.75}
        both = gradeval(*files, "--feature", "2,1-2", "-m", "AP", "-qn").out
        rows = [" ".join(line.split("\t")[::3]) for line in both.splitlines()[1:]]
        assert rows == ["feature2 0.5000", "feature2 1.0000", "feature1 1.0000", "feature1 0.5000"]
        assert gradeval(*files, "--feature", "2", "--feature", "1-2", "-m", "AP", "-qn").out == both
    # feature 2 as the grades: 1, 5 / 2, 0; feature 1 ranks a b / d c
    found = values("l", "--feature", "1", "--qrels-feature", "2", "-m", "nDCG", "-q", "-n", run="feature1")
    assert found == pytest.approx({("1", "nDCG"): dcg(1, 5) / dcg(5, 1), ("2", "nDCG"): dcg(0, 2) / 2})
    assert fails("q", "r", "--qrels-feature", "1").startswith("gradeval: --qrels-feature requires a LETOR file")
    # sizes of groups
    Path("plain").write_text("2 1:3\n0 1:2\n1 1:1\n0 1:4\n")
    Path("sizes").write_text("1\n3\n")
    args = ("plain", "--feature", "1", "-m", "AP", "-qn")
    assert "--groups" in fails(*args)
    found = values(*args, "--groups", "sizes", run="feature1")
    assert found == {("1", "AP"): 1.0, ("2", "AP"): 1 / 3}


@each("count", [1, 20, 21, 5000])
def test_up_to_twenty_errors_then_a_count(count: int) -> None:
    Path("r").write_text(RUN + "q1 Q0 d 1 x t\n" * count)
    lines = fails("q", "r").splitlines()
    assert lines[:20] == [f"r:{n}: the score 'x' is not a number" for n in range(9, 9 + min(count, 20))]
    rest = {21: ["r: 1 more error"], 5000: ["r: 4980 more errors"]}
    assert lines[20:] == rest.get(count, [])


def test_files_that_are_none() -> None:
    Path("p").write_text("1 1:2\n")
    Path("there").mkdir()
    Path("there/file").touch()
    os.symlink("loop", "loop")
    for name, what in (("there", "this is a directory, not a file"), ("no.ne", "no such file. Check the path")):
        for args in ((name, "r"), ("q", f"x={name}"), ("p", "s", "--groups", name)):
            assert fails(*args) == f"{name}: {what}"
    assert fails("", "r") == "'': no such file. Check the path"
    for name, what in (("q/none", "Not a directory"), ("n" * 300, "File name too long"), ("loop", "")):
        assert fails(name, "r").startswith(f"{name}: the file cannot be read ({what}")


def test_files_that_are_another() -> None:
    Path("q").write_text("".join(f"q1 0 d{n} 1\n" for n in range(5000)))
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n} tag\n" for n in range(5000)))
    rest = ", and none of the 5,000 lines is right. This looks like {}; the qrels come first, then the runs"
    as_qrels = "r:1: 6 fields where qrels have 4 (query iter document grade)" + rest.format("a run")
    assert fails("r", "q") == fails("r", "r") == as_qrels
    as_run = "q:1: 4 fields where a run has 6 (query Q0 document rank score tag)" + rest.format("qrels")
    assert fails("q", "q") == as_run
    Path("q").write_text("q1 0 d 1\n")
    assert fails("q", "q") == as_run.replace(", and none of the 5,000 lines is right", "")
    Path("wide").write_text(QRELS, encoding="utf-16")
    for args in ("wide r", "q wide", "l wide", "q r --query-ids wide", "trec_eval q r -Z wide"):
        said = fails(*args.split())
        assert said == "wide:1: this is text in UTF-16. Convert it with iconv -f UTF-16 -t UTF-8"
    Path("wide").write_text(QRELS, encoding="utf-32")  # which begins as UTF-16 does
    assert fails("wide", "r") == "wide:1: this is text in UTF-32. Convert it with iconv -f UTF-32 -t UTF-8"


JUDGED = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n2 0 d 3\n"
PASSAGES = """\
1 Q0 c#1 1 9 t
1 Q0 a#2 2 8 t
1 Q0 c#2 3 7 t
1 Q0 a#1 4 6 t
1 Q0 b 5 5 t
2 Q0 a#1 1 2.5 t
2 Q0 d#9 2 2.5 t
2 Q0 x#1 3 2 t
2 Q0 d#8 4 1 t
"""
DOCUMENTS = "1 Q0 c 1 9 t\n1 Q0 a 2 8 t\n1 Q0 b 3 5 t\n2 Q0 a 1 2.5 t\n2 Q0 d 2 2.5 t\n2 Q0 x 3 2 t\n"
OTHER = "1 Q0 a 1 3 t\n1 Q0 c 2 1 t\n2 Q0 x 1 2 t\n2 Q0 d 2 1 t\n"
NOTE = "each document counts once, with its best score [collapsed]"


def outputs(folder: str, *args: str) -> tuple[int, str, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = gradeval(*args)
    return done.code, done.out, done.lines


@pytest.fixture
def folders(folder: Path) -> None:
    """Folders with one run: of documents, of passages, and with the same documents several times."""
    twice = re.sub("#.", "", PASSAGES)
    for folder, run in (("once", DOCUMENTS), ("passages", PASSAGES), ("twice", twice)):
        Path(folder).mkdir()
        for name, text in (("q", JUDGED), ("r.run", run), ("o.run", OTHER)):
            Path(folder, name).write_text(text)


@each("line", [
    "q r.run -m nDCG@2,AP,num_ret -q",
    "gate q r.run --baseline o.run --no-worse AP --require AP>=0.9",
    "explain q r.run -m AP --query 1",
    "plot curve q r.run -m P --at 1-3 -f tsv",
])  # fmt: skip
def test_as_if_each_document_came_once(folders: None, line: str) -> None:
    """The command prints the same of passages, of duplicates and of documents, but for the note."""
    args = line.split()
    code, out, said = outputs("once", *args)
    assert code in (0, 1) and out
    for folder, options, what in (
        ("passages", ("--max-passage", "#"), "3 passages"),
        ("twice", ("--duplicates", "best"), "3 duplicates"),
    ):
        its_code, its_out, lines = outputs(folder, *args, *options)
        its_out = its_out.replace(f", {options[0][2:].replace('-', '_')} = {options[1]}", "")  # by a gate
        note = [] if args[0] == "explain" else [f"note: r: {what} collapsed: {NOTE}"]
        assert [line for line in lines if "collapsed" in line] == note
        assert (its_code, its_out, [line for line in lines if line not in note]) == (code, out, said)


def test_validate(folders: None) -> None:
    done = gradeval("validate", "passages/q", "passages/r.run", "--max-passage", "#")
    assert done.code == 0
    assert "  collapsed  3 lines, which leaves 6 documents" in done.out.splitlines()
    report = json.loads(gradeval("validate", "twice/q", "twice/r.run", "-f", "json").out)["files"][1]
    assert report["run"]["collapsed"] is None
    assert [error["hint"] for error in report["errors"]["first"]] == [first_in(0), first_in(1), first_in(6)]
    again = gradeval("validate", "twice/q", "twice/r.run", "-f", "json", "--duplicates", "best")
    report = json.loads(again.out)["files"][1]
    assert (again.code, report["run"]["collapsed"], report["run"]["documents"]) == (0, 3, 9)


def test_several_judgments() -> None:
    """Rules and judges: tests/commands/test_merge.py."""
    Path("two").write_text(Path("q").read_text() + "q1 0 a 1\n")
    assert fails("two", "r").startswith("two:9: document 'a' has grade 1 here and 3 before in line 1. --merge ")
    done = gradeval("two", "r", "-m", "AP", "--merge", "max", "--quiet")
    assert done.out == gradeval("q", "r", "-m", "AP", "--quiet").out


def test_unlabelled() -> None:
    Path("q.json").write_text('{"q1": {"a": 1, "b": null}}')
    Path("r").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n")
    done = gradeval("q.json", "r", "-m", "RR")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("q.json: $['q1']['b']: the grade is missing. --unlabelled unjudged (in Python ")
    done = gradeval("q.json", "r", "-m", "RR", "--unlabelled", "unjudged", "--strict")
    assert (done.code, done.out.split()[-1]) == (0, "0.5000")
    assert "note: q.json: 1 judgment has no label; its document is unjudged [unlabelled]" in done.err


def test_responses_in_a_pipe() -> None:
    Path("q").write_text("q1 0 a 1\nq2 0 a 1\n")
    hits = [{"_id": "b", "_score": 2}, {"_id": "a", "_score": 1}]
    responses = [{"took": 1, "hits": {"total": {"value": 2}, "hits": listed}} for listed in (hits, hits[1:])]
    Path("responses").write_text(json.dumps({"took": 2, "responses": responses}))
    Path("ids").write_text("q2\nq1\n")
    done = gradeval("q", "-", "-m", "RR", "-q", "-n", "--query-ids", "ids", stdin="responses")
    assert [line.split()[1:] for line in done.out.splitlines()[1:]] == [
        ["q1", "RR", "1.0000"],
        ["q2", "RR", "0.5000"],
    ]


MARK = "\ufeff"
MARKED = {  # calls that read the file f, whose third line begins with a mark
    "trec qrels": ("f r", "q1 0 a 1\nq1 0 b 0\n{}q2 0 f 1\n"),
    "trec run": ("q f", "q1 Q0 a 1 9 t\nq1 Q0 b 2 8 t\n{}q2 Q0 a 1 5 t\nq2 Q0 f 1 4 t\n"),
    "trec run, general scanner": ("q f", "q1 Q0 a 1 9 t\nq1 Q0  b 2 8 t\n{}q2 Q0 a 1 5 t\n"),
    "letor": ("f --feature 1", "1 qid:1 1:3\n0 qid:1 1:2\n{}1 qid:2 1:2\n"),
    "scores": ("l f", "1\n2\n{}3\n4\n"),
    "ranklib": ("l f", "1\t0\t.5\n1\t1\t2\n{}2\t0\t3\n2\t1\t4\n"),
    "msmarco": ("q f", "q1\ta\t1\nq1\tb\t2\n{}q2\ta\t1\n"),
    "beir": ("f r", "query-id\tcorpus-id\tscore\nq1\ta\t1\n{}q2\tf\t1\n"),
    "csv": ("q f", "query,document,score\nq1,a,3\n{}q2,f,2\n"),
    "csv, quoted": ("q f", 'query,document,score\n"q1","a",3\n{}"q2","f",2\n'),
    "tsv": ("q f", "query\tdocument\tscore\nq1\ta\t3\n{}q2\tf\t2\n"),
    "jsonl": ("q f", '{{"qid": "q1", "doc": "a", "score": 1}}\n\n{}{{"qid": "q2", "doc": "a", "score": 1}}\n'),
    "query ids": ("q r --query-ids ./f", "q1\n\n{}q2\n"),
    "weights": ("q r --query-weights f", "q1\t1\nq3\t1\n{}q2\t1\n"),
    "groups": ("compare q r r --by f", "q1\tx\n\n{}q2\tx\n"),
    "group sizes": ("v --feature 1 --groups f", "1\n1\n{}2\n"),
    "runs": ("q --runs-from f", "r\n# more\n{}r\n"),
    "titles": ("explain q r --query q1 --text f", "a\tone\nb\ttwo\n{}c\tthree\n"),
    "z-scores": ("trec_eval -m map -Z f q r", "q1 map 1 1\nq1 P_5 1 1\n{}q2 map 1 1\n"),
    "trec_eval": ("trec_eval -m map q f", "q1 Q0 a 1 9 t\nq1 Q0 b 2 8 t\n{}q2 Q0 a 1 5 t\n"),
    "manifest": ("batch f", "metrics = 'AP'\n\n{}systems = ['r']\n"),
}


@each("kind", MARKED)
def test_a_byte_order_mark_inside_a_file(kind: str) -> None:
    """As where files were joined: it would be the beginning of another id."""
    call, text = MARKED[kind]
    Path("v").write_text("1 1:1\n0 1:2\n1 1:3\n0 1:1\n")
    Path("f").write_text(text.format(""))
    done = gradeval(*call.split())
    assert done.code == 0 or kind == "manifest", done.err
    Path("f").write_text(text.format(MARK))
    hint = r"Where files were joined, remove theirs with sed 's/^\xef\xbb\xbf//'"
    assert (
        fails(*call.split()).removeprefix("./") == f"f:3: a byte order mark at the beginning of a line. {hint}"
    )


@each("text", ['{{"q1": {{\n"a": 1}},\n{}"q2": {{"a": 1}}}}', '{{"q1": ["a"],\n\n{}"q2": ["a"]}}'])
def test_a_byte_order_mark_inside_json(text: str) -> None:
    """It is no JSON."""
    Path("f").write_text(text.format(MARK))
    assert fails("q", "f").startswith("f:3: not valid JSON")


def test_a_byte_order_mark_inside_a_field() -> None:
    """There it is one of its characters."""
    Path("titles").write_text(f"a\tone{MARK}\nb\t{MARK}two\n")
    assert gradeval("explain", "q", "r", "--query", "q1", "--text", "titles").code == 0
    Path("f.csv").write_text(
        f'title,query,document,score\n"x\n{MARK}y",q{MARK},{MARK}a,3\n"{MARK}",q{MARK},b,2\n'
    )
    Path("q").write_text(f"q{MARK} 0 {MARK}a 1\n")
    found = values("q", "f.csv", "-m", "AP num_ret", run="f")
    assert found == {("all", "AP"): 1.0, ("all", "num_ret"): 2}


def test_query_ids_with_spaces() -> None:
    """As in a file: a part is an id where the qrels have it, else its words are."""
    rows = 'red shoes,a,1\nblue,a,1\n"a,b",a,1\n\x1cq,a,1\n'  # the last is no space, though Python strips it
    Path("q").write_text("query,document,grade\n" + rows)
    Path("r").write_text("query,document,score\n" + rows)
    ids = {"red shoes": ["red shoes"], "blue, red shoes": ["red shoes", "blue"], "a,b": ["a,b"]}
    ids["blue, \x1cq"] = ["blue", "\x1cq"]
    for text, expected in ids.items():
        done = gradeval("q", "r", "-q", "-c", "-m", "RR", "--no-header", "--query-ids", text)
        assert {line.split("\t")[1] for line in done.out.rstrip("\n").split("\n")} == {*expected, "all"}, text
    assert "query 'red' is not in q" in gradeval("q", "r", "--query-ids", "red blue").err
