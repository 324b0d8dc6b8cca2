"""gradeval trec_eval: its options, measures and messages. Its numbers are compared in test_trec_parity.py."""

from pathlib import Path

import pytest
from helpers import each, raises

from gradeval.errors import MetricError
from gradeval.registry.measures import parse_trec_eval

from .command import fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")
LACKING = "warning: r: 1 judged query is not in the run ('q3'), excluded; -c counts them as 0 [missing]\n"


def lines(*args: object, stdin: Path | str | None = None) -> list[str]:
    """'name query value' of each line, of a call that has nothing to say but that the run lacks q3."""
    done = gradeval("trec_eval", *args, stdin=stdin)
    assert done.code == 0, done.err
    assert done.err in ("", LACKING)
    return [" ".join(line.split()) for line in done.out.splitlines()]


def test_official_is_the_default() -> None:
    done = gradeval("trec_eval", "q", "r")
    assert (done.code, done.err) == (0, LACKING)
    counts = {"runid": "tag", "num_q": 2, "num_ret": 7, "num_rel": 4, "num_rel_ret": 3, "map": "0.3889"}
    assert done.out.startswith("".join(f"{name:22}\tall\t{value}\n" for name, value in counts.items()))
    assert done.out == gradeval("trec_eval", "-m", "official", "q", "r").out
    assert done.out.splitlines()[-1] == "P_1000                \tall\t0.0015"
    # queries in the order of their ids as bytes
    ids = [b"9", b"10", b"b", b"\xff", b"B", b"\xc3\xa9"]
    Path("q").write_bytes(b"".join(b"%s 0 a 1\n" % query for query in ids))
    Path("r").write_bytes(b"".join(b"%s Q0 a 1 1 t\n" % query for query in ids))
    done = gradeval("trec_eval", "-qn", "-m", "map", "q", "r")
    written = [line.split(b"\t")[1] for line in done.out.encode("utf-8", "surrogateescape").splitlines()]
    assert written == sorted(ids)


@each("options, printed", [
    ("-m num_q -m map", ["num_q all 2", "map all 0.3889"]),
    ("-c -m num_q -m map", ["num_q all 3", "map all 0.2593"]),
    ("-qn -m map", ["map q1 0.2778", "map q2 0.5000"]),
    ("-n -m map", []),
    ("-q -c -m map -m num_q -m relstring -m gm_map",
     ["map q1 0.2778", "relstring q1 '0-13'", "map q2 0.5000", "relstring q2 '01.'", "map q3 0.0000",
      "relstring q3 ''", "num_q all 3", "map all 0.2593", "gm_map all 0.0112"]),
    ("-l2 -m num_rel", ["num_rel all 2"]),
    ("-c --level_for_rel 0 -m num_rel", ["num_rel all 7"]),
    ("-J -M 2 -m num_ret", ["num_ret all 3"]),
    ("-M 9223372036854775807 -m num_ret", ["num_ret all 7"]),
    ("-N 10 -m utility.0,0,0,1", ["utility_0,0,0,1 all 6.0000"]),
    ("--q --co --meas=map", ["map q1 0.2778", "map q2 0.5000", "map q3 0.0000", "map all 0.2593"]),
    ("-q -m relstring.3 -n", ["relstring_3 q1 '0-1'", "relstring_3 q2 '01.'"]),
])  # fmt: skip
def test_what_is_printed(options: str, printed: list[str]) -> None:
    assert lines(*options.split(), "q", "r") == printed


@each("measures, printed", [
    ("iprec_at_recall..10,.5,0.333", "iprec_at_recall_0.10 iprec_at_recall_0.33 iprec_at_recall_0.50"),
    ("Rprec_mult.5.0,0.2", "Rprec_mult_0.20 Rprec_mult_5.00"),
    ("11pt_avg..25,.5,.75", "11pt_avg_.25,.5,.75"),
    ("rbp.1=0.5,p=0.8", "rbp_1=0.5,p=0.8"),
    ("relstring.3", ""),
    ("dcg.1=2", "dcg_1=2"),
    ("P.5 -m map -m num_q", "num_q map P_5"),  # in its order
    ("muAP -m P.5 -m nDCG(gain=exp)@5 -m AP@5", "P_5 muAP nDCG(gain=exp)@5 map_cut_5"),
    ("map_cut.5 -m AP@5", "map_cut_5"),
    ("P -m P.5 -m P.10", "P_5"),  # what is given first holds
])  # fmt: skip
def test_names_that_are_printed(measures: str, printed: str) -> None:
    found = lines("q", "r", "-m", *measures.split())
    assert [line.split()[0] for line in found] == printed.split()


@each("group, count", [("official", 30), ("set", 11), ("all_trec", 99)])
def test_groups(group: str, count: int) -> None:
    assert {measure.spec.metric.name for measure in parse_trec_eval([group])} >= {"runid", "num_q", "num_ret"}
    done = gradeval("trec_eval", "-m", group, "q", "r").out
    assert len(done.splitlines()) == count
    assert done == gradeval("q", "r", "-m", group, "-f", "trec", "--queries", "both", "--quiet", "-l", "1").out


def test_zscores_and_long_names() -> None:
    Path("z").write_text("q1 map 0.2 0.1\nq2 map 0.5 0\nq1 num_ret 5 2\n")
    args = ["-q", "-Z", "z", "-m", "map", "-m", "num_ret", "-m", "num_q", "-m", "runid", "q", "r"]
    assert lines(*args) == [
        *("Znum_ret q1 -0.5000", "Zmap q1 0.7778", "Znum_ret q2 -1000000.0000", "Zmap q2 0.0000"),
        *("runid all tag", "Znum_q all 2.0000", "Znum_ret all -1000000.5000", "Zmap all 0.3889"),
    ]
    # options by their long names
    options = "-q -c -n -l 1 -J -N 9 -M 5 -R qrels -T trec_results -o -m map q r"
    assert lines(*options.split()) == lines(
        *("--query_eval_wanted", "--complete_rel_info_wanted", "--nosummary", "--level_for_rel", "1"),
        *("--Judged_docs_only", "--Number_docs_in_coll", "9", "--Max_retrieved_per_topic", "5"),
        *("--Rel_info_format", "qrels", "--Results_format", "trec_results", "--Output_old_results_format", "x"),
        *("--Debug_level", "0", "--measure", "map", "q", "r"),
    )


def test_odd_files() -> None:
    assert "unknown metric" in gradeval("trec_eval", "-m", "--q", "q", "r").err
    Path("--q").write_bytes(Path("r").read_bytes())
    assert lines("-c", "-m", "map", "--", "q", "--q") == ["map all 0.2593"]
    assert gradeval("trec_eval", "-m", "map", "q", "-", stdin="r").err == LACKING.replace(" r:", " <stdin>:")
    for run, tag in (
        ("q1 Q0 a 1 2\nq2 Q0 a 1 2\nq3 Q0 z 1 2\n", "r"),
        ("q1 Q0 a 1 2 one\nq2 Q0 a 1 2 two\nq3 Q0 z 1 2 three more\n\n# the end\n", "three"),
    ):
        Path("r").write_text(run)
        assert lines("-m", "runid", "q", "r") == [f"runid all {tag}"]
    # lines of runs are read as trec_eval reads them
    Path("r").write_text("q1 Q0 a\rb 1 2 tag\nq1 Q0 c 2 1 tag1 Q0 d 3 0.5 tag\nq2 Q0 a 1 2 a tag\n")
    done = gradeval("trec_eval", "-m", "num_ret", "q", "r")
    assert (done.code, done.out) == (0, "num_ret               \tall\t3\n") and "fields" not in done.err
    # grades are not cut
    Path("r").write_text("1 Q0 b 1 2 t\n1 Q0 a 1 1 t\n")
    subtopics = "note: q: 1 document has judgments of subtopics; the highest grade counts [subtopics]\n"
    again = "warning: q: 1 duplicate judgment with the same grade [duplicates]\n"
    for row, said in (("", ""), ("1 2 a 1.5\n", subtopics), ("1 0 a 1.5\n", again)):
        Path("q").write_text(f"1 0 a 1.5\n1 0 b 0.5\n{row}")
        done = gradeval("trec_eval", "-m", "num_rel", "-m", "dcg", "q", "r")
        assert (done.code, done.err) == (0, said)
        assert [line.split() for line in done.out.splitlines()] == [
            ["num_rel", "all", "1"],
            ["dcg", "all", "1.4464"],
        ]


def test_help_and_version() -> None:
    shown = gradeval("trec_eval", "-h")
    assert shown.code == 0 and shown == gradeval("trec_eval", "--help")
    assert max(map(len, shown.out.splitlines())) <= 100
    version = gradeval("trec_eval", "-v")
    assert version.code == 0 and version == gradeval("trec_eval", "--version")
    assert "trec_eval 10.0" in version.out


@each("args, what", [
    ("-m mpa q r", "mpa: did you mean map?"),
    ("-m P. q r", "P.: cutoff must be a positive integer, not ''"),
    ("-m P.5,5.2 q r", "5 is given more than once"),
    ("-m map.5,10 q r", "map takes no value after '.': did you mean map_cut.5,10?"),
    ("-m official.5 q r", "official.5: did you mean official?"),
    ("-m utility.1,2 q r", "weights must be 4 numbers separated by ',', such as 1,-1,0,0, not '1,2'"),
    ("-m 11pt_avg.2,3 q r", "such as 0,0.1,0.2, each a number in [0, 1], not '2,3'"),
    ("-m ndcg.5 q r", "ndcg takes grade=gain pairs after '.': did you mean ndcg_cut.5?"),
    ("-m ndcg.1=3,1=4 q r", "without repetition, not '1=3,1=4'"),
    ("-m rbp.0.8 q r", "rbp takes p= and grade=gain pairs after '.': rbp.p=0.9,1=3,2=9"),
    ("-R prefs q r", "'prefs' is not 'qrels'"),
    ("--Re qrels q r", "No such option '--Re'"),
    ("--qu=3 q r", "does not take a value"),
    ("--Output_old_results_format q r", "Missing argument 'RUN'"),
    ("-l -1 q r", "-l must not be negative"),
    ("q", "Missing argument 'RUN'"),
    ("- - -m map", "'-' can be given once only: there is one standard input"),
    ("- r -Z -", "'-' can be given once only: there is one standard input"),
    ("-l ١ q r", "'١' is not a number that can be a grade"),
])  # fmt: skip
def test_refusal(args: str, what: str) -> None:
    done = gradeval("trec_eval", *args.split())
    assert (done.code, done.out) == (2, "")
    assert what in done.err and done.err.count("\n") <= 21


def test_measures_from_python() -> None:
    found = parse_trec_eval(["utility.1,1,1,1", "P.5"], size=100)
    assert [(str(measure.spec), measure.printed) for measure in found] == [
        ("P@5", "P_5"),
        ("utility(weights=1/1/1/1,size=100)", "utility_1,1,1,1"),
    ]
    raises(MetricError, "no metrics given", parse_trec_eval, [""])


def test_a_file_of_another_format_names_convert() -> None:
    Path("q.csv").write_text("query,document,grade\nq1,a,1\n")
    for command in ("trec_eval", "ir_measures"):
        done = gradeval(command, "q.csv", "r", *(["AP"] if command == "ir_measures" else []))
        assert "-format" not in done.err
        if command == "trec_eval":
            assert "'gradeval convert q.csv NEW --to trec' makes it a file of TREC" in done.err


@pytest.mark.parametrize("command", ["trec_eval -m map q r", "ir_measures q r AP"])
def test_hints_name_convert(folder: Path, command: str) -> None:
    """Neither command has the options of files that others have."""
    Path("r").write_text("q1 Q0 d1 1 1 t\nq1 Q0 d1 1 2 t\n")
    Path("q").write_text("q1 0 d1 1\n")
    assert "; 'gradeval convert r NEW --to trec --duplicates best' takes" in fails(*command.split())
    Path("q").write_text("q1 0 d1 1\nq1 0 d1 0\n")
    assert ". 'gradeval convert q NEW --to trec --merge mean' makes" in fails(*command.split())
    Path("q").write_text("q1,d1,0\n" * 9)
    assert "give 'gradeval convert' --qrels-format" in fails(*command.split())
    Path("q").write_text("q1 0 d1 1\n" + "q1,d2,0\n" * 9)  # which convert cannot read either
    assert "convert" not in gradeval(*command.split()).err
