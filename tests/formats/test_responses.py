"""Responses of Elasticsearch, OpenSearch and Solr as runs, and lists of documents in JSON Lines."""

import gzip
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from cli.command import gradeval as command
from helpers import each, each_row, error_of, raises

import gradeval
from formats.reading import errors_of, read
from gradeval.tables.qrels import MERGE_HINT


def search(*hits, **members):
    """A response to _search with these (id, score)."""
    inner = {"hits": {"hits": {"total": {"value": 1}, "hits": [{"_id": "inner", "_score": 9}]}}}
    objects = [
        {"_index": "i", "_id": id, "_score": score, "_source": {"id": 1, "score": 5}, "inner_hits": inner}
        for id, score in hits
    ]
    total = {"total": {"value": len(hits), "relation": "eq"}, "max_score": None, "hits": objects}
    shards = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}
    return {"took": 5, "timed_out": False, "_shards": shards, "hits": total, **members}


def solr(*documents, **members):
    return {
        "responseHeader": {"status": 0, "QTime": 1},
        "response": {"numFound": 2, "docs": [*documents]},
        **members,
    }


SCORED = search(("é", 1.5), ("b", 1.0))
SORTED = search(("b", None), ("a", None))
NOTHING = search()
ROWS = [("q", "é", 1.5), ("q", "b", 1.0), ("r", "b", -1.0), ("r", "a", -2.0)]
CAUSE = {"type": "index_not_found_exception", "reason": "no such index [x]"}
ERROR = {"error": {"root_cause": [CAUSE], "type": "search_phase", "reason": "all shards failed"}, "status": 404}
AGGREGATIONS = search(aggregations={"by": {"buckets": [{"key": 1}]}})
GROUPED = {
    "responseHeader": {"status": 0},
    "grouped": {"f": {"groups": [{"doclist": {"docs": [{"id": "a"}]}}]}},
}
DETAILS = {
    query: {"metric_score": 0.1, "hits": [{"hit": hit, "rating": None} for hit in response["hits"]["hits"]]}
    for query, response in (("q", SCORED), ("r", SORTED))
}
NAMED = {
    "by query": {"q": SCORED, "s": NOTHING, "r": SORTED},
    "rank_eval": {"metric_score": 0.5, "details": DETAILS, "failures": {}},
    "rank_eval of 6": {"rank_eval": {"metric_score": 0.5, "details": DETAILS}},
    "hits alone": {"q": {"hits": {"hits": SCORED["hits"]["hits"]}}, "r": SORTED},
    "aggregations": {"q": {**AGGREGATIONS, **SCORED}, "r": SORTED},
    "Solr": {
        "q": solr({"id": "é", "title": [], "score": 1.5}, {"score": 1, "id": "b"}),
        "r": solr({"id": "b"}, {"id": "a"}),
    },
}
UNNAMED = {
    "msearch": {"took": 1, "responses": [SCORED, NOTHING, {**SORTED, "status": 200}]},
    "list": [SCORED, NOTHING, SORTED],
}


def written(content, indent=None):
    return json.dumps(content, indent=indent, ensure_ascii=False).encode()


@each("indent", [None, 1])
@each("form", [*NAMED, *UNNAMED, "lines"])
def test_responses(form, indent, put):
    if form == "lines":
        text = b"\n".join(map(written, UNNAMED["list"]))
    else:
        text = written((NAMED | UNNAMED)[form], indent)
    for content in (text, gzip.compress(text)):
        assert read(put(content), query_ids=["q", "s", "r"])[0] == ROWS


def test_one_response(put):
    for content in (SCORED, {"hits": {"hits": SCORED["hits"]["hits"]}}, NAMED["Solr"]["q"]):
        assert read(put(written(content)), query_ids="q")[0] == ROWS[:2]
    with pytest.raises(gradeval.InputError, match="no column named 'none'; the columns are '_index', '_id'"):
        read(put(written(SCORED)), query_ids="q", columns="score=none")
    other = solr({"id": 1, "docno": "é", "rank": 1}, {"id": 2, "docno": "b", "rank": 2})
    assert read(put(written(other)), query_ids="q", columns="document=docno,rank=rank")[0] == [
        ("q", "é", -1.0), ("q", "b", -2.0)
    ]  # fmt: skip


@each_row(
    (SCORED, "this is a response of Elasticsearch or OpenSearch, which does not name its query. Give the id"),
    (solr({"id": "a"}), "this is a response of Solr, which does not name its query. Give the id"),
    (UNNAMED["msearch"], "these are 3 responses of Elasticsearch or OpenSearch, which do not name their"),
    (AGGREGATIONS, "this is a response of Elasticsearch or OpenSearch without hits, with aggregations alone"),
    ({"aggregations": {"a": {}, "b": {"value": 1}}}, "this is a response of Elasticsearch or OpenSearch with"),
    (GROUPED, "this is a response of Solr without hits, since they are grouped. Search with group.main=true"),
    ({"q": SCORED, "r": ERROR}, "$['r']: Elasticsearch or OpenSearch answered with an error: index_not_f"),
    ({"metric_score": 0, "details": {}, "failures": {"r": ERROR}}, "$['failures']['r']: Elasticsearch or"),
    ({"responseHeader": {"status": 400}, "error": {"msg": "no x"}}, "Solr answered with an error: no x"),
    ({"q": {**SCORED, "timed_out": True}}, "$['q']: the search timed out, so that hits may be missing. Search"),
    ({"q": {**SCORED, "_shards": {"total": 2, "failed": 1}}}, "$['q']: 1 of the index's shards failed, so"),
    ({"q": NOTHING}, "no data: no response has hits"),
    ({"q": search(("a", 1.0), ("b", None))}, "$['q']['hits']['hits'][1]: the score is missing"),
    ({"q": {"hits": {"hits": [{"_score": 1}, 5]}}}, "the hits have no '_id'; their members are '_score'. Name"),
    ({"q": solr({"sku": "a", "score": 1})}, "the hits have no 'id'; their members are 'sku', 'score'. Name"),
    ({"q": solr({"id": "a", "score": "x"})}, "$['q']['response']['docs'][0]: the score 'x' is not a number"),
    ({"q": {"response": search(("a", "x"))}}, "$['q']['response']['hits']['hits'][0]: the score 'x' is not"),
    ({"rank_eval": {"metric_score": 0, "details": {"q": {"hits": [{"hit": {"_id": "a", "_score": "x"}}]}}}},
     "$['rank_eval']['details']['q']['hits'][0]: the score 'x' is not a number"),
    ({"q": SCORED, "r": 5}, "$['r']: 5 is not a response"),
)  # fmt: skip
def test_what_is_no_run(content, error, put):
    assert errors_of(put(written(content)))[0].lstrip().startswith(error)


def test_each_error_of_several(put):
    content = {"took": 1, "responses": [SCORED, ERROR, AGGREGATIONS]}
    errors = errors_of(put(written(content)), query_ids="q r s")
    assert [error.split(":")[0].strip() for error in errors] == ["$['responses'][1]", "$['responses'][2]"]
    [error] = errors_of(put(written(UNNAMED["msearch"])), query_ids="q r")
    assert "there are 3 responses of Elasticsearch or OpenSearch and 2 ids of queries. " in error
    assert errors_of(put(written(UNNAMED["msearch"])[:-90]), query_ids="q")[0].startswith("1: not valid JSON")
    lines = b"\n".join([written(SCORED), written(SCORED)[:-9]])
    assert errors_of(put(lines), query_ids="q r")[0].startswith("2: not valid JSON")


@each("content", [SCORED, UNNAMED["msearch"], NAMED["rank_eval"], {"q": ERROR}, NAMED["Solr"]["q"]])
def test_responses_are_no_qrels(content, put):
    assert "this is a response of a search engine, not qrels" in errors_of(put(written(content)), "grade")[0]


@each("name", ["hits", "error", "response", "responses", "aggregations", "details", "took"])
def test_queries_and_documents_with_names_of_members(name, put):
    content = {name: {name: 2.0, "total": 1}}
    assert read(put(written(content)))[0] == [(name, name, 2.0), (name, "total", 1.0)]
    assert read(put(written({name: ["a"]})))[0] == [(name, "a", 0.0)]


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@each("content", [SCORED, UNNAMED["msearch"], UNNAMED["list"], GROUPED, {"q": {**SCORED, "timed_out": True}},
                  {"q": {**SCORED, "_shards": {"failed": 1}}}, "lines"])  # fmt: skip
def test_the_line_of_jq_makes_it_readable(content, put):
    text = b"\n".join(map(written, (SCORED, SORTED))) if content == "lines" else written(content)
    [error] = errors_of(put(text))
    flags, program = re.search("jq (-n )?'(.*)'", error).groups()
    names = '"QUERY1", "QUERY2", "QUERY3"' if content in UNNAMED.values() else '"QUERY1", "QUERY2"'
    program = program.replace('"QUERY1", "QUERY2"', names)
    made = subprocess.run(["jq", *(flags or "").split(), program], input=text, capture_output=True, check=True)
    assert read(put(made.stdout), query_ids="q" if content is GROUPED else None)[0]


def test_the_order_of_hits_against_their_scores(tmp_path):
    """As of a search that is sorted by a field, and tracks scores."""
    path = tmp_path / "run"
    path.write_bytes(written({"q": search(("a", 1.0), ("b", 2.0), ("c", 3.0))}))
    notices = gradeval.evaluate({"q": {"a": 1}}, path, "RR").notices
    assert [notice.kind.name for notice in notices if notice.kind.name == "RANKS"] == ["RANKS"]


def test_query_ids_that_a_file_or_an_explanation_has(tmp_path):
    path = tmp_path / "run"
    path.write_bytes(written(UNNAMED["msearch"]))
    qrels = {"q": {"b": 1}, "r": {"b": 1}, "s": {"z": 1}, "t": {"z": 1}}
    ids = ["q", "s", "r"]
    assert gradeval.evaluate(qrels, path, "RR", query_ids=ids).per_query("run", "RR") == {
        "q": 0.5,
        "r": 1,
        "s": 0,
    }
    [explanation] = gradeval.explain(qrels, path, "RR", worst=1, query_ids=ids)
    assert explanation.query == "s"


@each("member", ["hits", "results", "retrieved"])
@each("size", [1, 1 << 20])
def test_lists_in_json_lines(member, size, put):
    objects = [
        {"query": "q", member: [{"_id": "é", "_score": 1.5, "n": {}}, {"_id": "b", "_score": 1}]},
        {member: [], "query": "s"},
        {"more": [1], member: [{"chunk_id": "b", "_id": "b", "_score": -1}], "query": "r"},
    ]
    rows, lines = read(put(b"\n\n".join(map(written, objects[:2]))), "score")
    assert (rows, lines) == (ROWS[:2], [0, 0])
    ids = [{member: ["é", "b"], "query_id": "q"}, {"query_id": "r", member: ["b", "a"]}]
    assert read(put(b"\n".join(map(written, ids)), size))[1] == [0, 0, 1, 1]
    assert [row[:2] for row in read(put(b"\n".join(map(written, ids)), size))[0]] == [row[:2] for row in ROWS]
    last = put(b"\n".join(map(written, objects)), size)
    assert read(last)[0] == [*ROWS[:2], ("r", "b", -1.0)]


def test_errors_of_lists_in_json_lines(put):
    lines = [
        '{"query": "q", "hits": [{"_id": "a", "_score": 1}]}', '{"query": "q", "hits": []}', '{"query": "r"}',
        '{"query": "s", "hits": 5}', '{"query": "t", "hits": [{"_id": "a", "_score": "x"}]}', "[",
    ]  # fmt: skip
    assert errors_of(put("\n".join(lines).encode())) == [
        "2: query 'q' is in the file twice",
        "3: the object has no 'hits'",
        "4: $['hits']: 5 is not a list of documents",
        "5: $['hits'][0]: the score 'x' is not a number",
        "6: not valid JSON (Expecting value in column 2)",
    ]
    assert errors_of(put(b'{"query": "q", "hits": []}\n')) == [" no data: there are no documents"]
    both = put(b'{"query": "q", "results": [{"_id": "a", "_score": 1}], "hits": [{"_id": "b", "_score": 1}]}\n')
    assert errors_of(both) == ["1: the documents may be 'hits' or 'results'. Remove one: jq -c 'del(.results)'"]


@each("name", ["_id", "chunk_id", "passage_id", "node_id"])
def test_names_of_documents(name, put):
    text = f'{{"query_id": "q", "{name}": "a", "_score": 2}}\n'
    assert read(put(text.encode()))[0] == [("q", "a", 2.0)]


def test_one_line_with_a_duplicate(tmp_path):
    """Its number would not say where: the query and the document are named."""
    run = tmp_path / "run"
    run.write_text('{"q": {"a": 3, "b": 2, "a": 1}, "x": {"c": 2, "c": 1}}')
    errors = error_of(gradeval.GradevalError, gradeval.evaluate, {"q": {"a": 1}}, run, "RR").splitlines()
    best = "--duplicates best (in Python duplicates='best') takes the best score"
    assert errors == [
        f"{run}:1: duplicate document 'a' for query 'q'. {best}",
        f"{run}:1: duplicate document 'c' for an unjudged query. {best}",
    ]
    assert error_of(gradeval.GradevalError, gradeval.read_qrels, run).splitlines() == [
        f"{run}:1: document 'a' of query 'q' has grade 1 here and 3 before in this line. {MERGE_HINT}",
        f"{run}:1: document 'c' of query 'x' has grade 1 here and 2 before in this line",
    ]


class Wrapped:
    """As the client of Elasticsearch returns a response: no dict."""

    def __init__(self, body):
        self.body = body

    def __iter__(self):
        return iter(self.body)


JUDGED = {"q": {"b": 1}, "r": {"a": 1}, "s": {"a": 1}}
LISTS = [
    {"query": "q", "hits": [{"_id": "é", "_score": np.float32(1.5)}, {"_id": "b", "_score": np.int64(1)}]},
    {"query": "r", "hits": [{"_id": "b", "_score": -1}, {"_id": "a", "_score": -2}]},
]


@each("form", [*NAMED, *UNNAMED, "wrapped", "wrapped list", "lists"])
def test_in_memory_as_in_a_file(form):
    wrapped = {"wrapped": Wrapped(UNNAMED["msearch"]), "wrapped list": [*map(Wrapped, UNNAMED["list"])]}
    data = (NAMED | UNNAMED | wrapped | {"lists": LISTS})[form]
    options = {} if form in NAMED or form == "lists" else {"query_ids": ["q", "s", "r"]}
    expected = {"q": 0.5, "r": 0.5, "s": 0.0}
    results = gradeval.evaluate(JUDGED, data, "RR", **options)
    assert results.per_query("run1", "RR") == expected
    if isinstance(data, dict):
        assert gradeval.evaluate(JUDGED, [data, data], "RR", **options).means.tolist() == [[1 / 3]] * 2
    by_name = gradeval.evaluate(JUDGED, {"x": data, "y": {"q": {"a": 1.0}}}, "RR", **options)
    assert by_name.run("x")["RR"] == 1 / 3 and by_name.run("y")["RR"] == 0
    assert gradeval.Evaluator(JUDGED, "RR", **options).evaluate(data).per_query(0, "RR") == expected
    if not options:
        assert len(gradeval.read_run(data).columns.value) == 4


def test_errors_and_columns_in_memory():
    errors = {
        "run1: this is a response of Elasticsearch or OpenSearch, which does not name its query": SCORED,
        "run1: .'r'.: Elasticsearch or OpenSearch answered with an error": {"q": SCORED, "r": ERROR},
    }
    for message, data in errors.items():
        raises(gradeval.InputError, message.replace(".'r'.", r"\$\['r'\]"), gradeval.evaluate, JUDGED, data)
    hits = [{"query": "q", "hits": [{"sku": "a", "w": 1}, {"sku": "b", "w": 2}]}]
    columns = {"document": "sku", "score": "w"}
    assert gradeval.evaluate(JUDGED, hits, "RR", columns=columns).per_query(0, "RR")["q"] == 1


@each("key", ["id", "query"])
def test_judgments_of_search_engines_in_memory(key):
    rated = [{key: "q", "ratings": [{"_id": "b", "rating": 2}, {"_id": "a", "rating": 0}]}]
    for qrels in (rated, {"requests": rated}):
        assert gradeval.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "RR").run(0)["RR"] == 0.5


@each("name", ["hits", "error", "response", "responses", "details", "took", "requests"])
def test_dicts_with_names_of_members(name):
    run = {name: {name: 2.0, "status": 1.0}}
    assert gradeval.evaluate({name: {name: 1}}, run, "RR").run(0)["RR"] == 1
    record = [{"query_id": name, "doc_id": name, "score": 1.0, "took": 5, "status": 200, "hits": 3}]
    assert gradeval.evaluate({name: {name: 1}}, record, "RR").run(0)["RR"] == 1


def test_duplicates_of_lists_are_named(tmp_path):
    """Their files have no lines: those of a JSON text that is read whole."""
    path = tmp_path / "file"
    twice = search(("a", 3.0), ("b", 2.0), ("a", 1.0))
    best = "--duplicates best (in Python duplicates='best') takes the best score"
    for content, ids in (({"q": ["b", "a", "b"]}, None), ([SORTED, twice], ["r", "q"])):
        path.write_bytes(written(content, 1))
        document = "b" if ids is None else "a"
        judged = {"q": {"a": 1}, "r": {"a": 1}}
        error = error_of(gradeval.InputError, gradeval.evaluate, judged, path, "RR", query_ids=ids)
        assert error == f"{path}: duplicate document '{document}' for query 'q'. {best}"
    rated = [{"query": "q", "ratings": [{"docId": "a", "rating": 1}, {"docId": "a", "rating": 2}]}]
    path.write_bytes(written(rated))
    expected = f"{path}: document 'a' of query 'q' has grade 2 here and 1 before. {MERGE_HINT}"
    assert error_of(gradeval.InputError, gradeval.read_qrels, path) == expected


def test_query_ids_of_commands_without_judgments(tmp_path, monkeypatch):
    """They name the responses, and are not numbers of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.json").write_bytes(written([SCORED, SORTED]))
    (tmp_path / "r.csv").write_text("query,document,score\n1,b,2\n1,é,1\n0,b,2\n0,a,1\n")
    for ids in ("1,0", "./ids"):
        (tmp_path / "ids").write_text("1\n0\n")
        done = command("diff", "r.json", "r.csv", "--query-ids", ids, "-q", "-f", "csv")
        values = [line.split(",") for line in done.out.splitlines() if ",same@1," in line]
        assert [row[1:] for row in values] == [
            ["1", "same@1", "0"],
            ["0", "same@1", "1"],
            ["all", "same@1", "0.5000"],
        ]
        done = command("pool", "r.json", "--query-ids", ids, "-f", "csv")
        assert [line.split(",")[:2] for line in done.out.splitlines()[1:3]] == [["1", "é"], ["1", "b"]]
    (tmp_path / "ids").write_text("1\n0\n")
    for line in ("diff r.json r.csv -q", "pool r.json", "fuse r.json r.csv -o -"):  # no id has the file's name
        done, by_path = (command(*line.split(), "--query-ids", ids) for ids in ("ids", "./ids"))
        assert done.code == 0 and done.out == by_path.out
    for line in ("diff r.json r.csv", "fuse r.json r.csv", "convert r.json x.csv"):
        assert (
            "with --query-ids (query_ids=), where a command has this option, or add them"
            in command(*line.split()).err
        )


def test_a_query_of_a_response_that_is_not_judged(tmp_path, monkeypatch):
    """It is one of the run without judgments, as in any run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("r 0 a 1\n")
    (tmp_path / "r.json").write_bytes(written(UNNAMED["list"]))
    (tmp_path / "named.json").write_bytes(written({"r": SORTED}))
    (tmp_path / "ids").write_text("q\ns\nr\n")
    (tmp_path / "others").write_text("q\ns\nt\n")
    for ids in ("q,s,r", "./ids"):
        done = command("q", "r.json", "--query-ids", ids, "-m", "RR")
        assert (
            done.out.endswith("r\tall\tRR\t0.5000\n") and "r: 1 unjudged query of the run, ignored" in done.err
        )
        assert command("explain", "q", "r.json", "--query-ids", ids, "--worst", "1").code == 0
    results = gradeval.evaluate({"r": {"a": 1}}, UNNAMED["list"], "RR", query_ids=["q", "s", "r"])
    assert results.per_query(0, "RR") == {"r": 0.5}
    for ids in ("q,s,t", "./others"):
        assert (
            "--query-ids: queries 'q', 's', 't' are not in q" in command("q", "r.json", "--query-ids", ids).err
        )
    assert "query 'q' is not in q" in command("q", "named.json", "--query-ids", "q,r").err
    assert command("q", "named.json", "--query-ids", "./ids").err.startswith("./ids:1: query 'q' is not in q\n")


@each("form", ["list", "lines"])
def test_two_responses_of_one_query(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    responses = [SCORED, SORTED]
    (tmp_path / "r.json").write_bytes(
        b"\n".join(map(written, responses)) if form == "lines" else written(responses)
    )
    (tmp_path / "q").write_text("r 0 a 1\n")
    (tmp_path / "ids").write_text("r\nr\n")
    error = "query id 'r' is given twice. A response is that of one query"
    for run in ("r.json", responses):
        assert error_of(gradeval.InputError, gradeval.evaluate, "q", run, query_ids=["r", "r"]).endswith(error)
    for ids in ("r,r", "ids", "./ids"):
        assert command("q", "r.json", "--query-ids", ids).err == f"r.json: {error}\n"
    assert command("fuse", "r.json", "r.json", "-o", "-", "--query-ids", "r,r").err == f"r.json: {error}\n"


def test_a_query_of_responses_is_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("q 0 b 1\n")
    (tmp_path / "r.json").write_bytes(written([SORTED, SCORED]))
    (tmp_path / "r.run").write_text("q Q0 b 1 1 t\n")
    line = "explain", "q", "r.json", "--query", "q", "-m", "RR", "--query-ids", "s,q"
    assert command(*line).out.startswith("RR, query q, r: 0.5000\n")
    for other in (["--queries", "both"], []):
        line = *line[:2], "r.json" if other else "r.run", *line[3:], *other
        assert "are those that --worst chooses from" in command(*line).err.replace("that worst", "that --worst")


def test_responses_are_checked_converted_and_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("q 0 b 1\nr 0 a 1\n")
    (tmp_path / "r.run").write_text("q Q0 b 1 1 t\n")
    (tmp_path / "r.json").write_bytes(written([SORTED, SCORED]))
    (tmp_path / "ids").write_text("q\nr\n")
    for ids in ("q,r", "ids"):
        done = command("convert", "r.json", "-", "--to", "csv", "--query-ids", ids)
        assert done.out == "query_id,doc_id,score\nq,b,-1\nq,a,-2\nr,é,1.5\nr,b,1\n"
        done = command("validate", "q", "r.json", "--query-ids", ids)
        assert done.code == 0 and "2 of 2 judged queries" in done.out
    run = gradeval.read_run("r.json", query_ids="q,r")
    of_data = gradeval.read_run([SORTED, SCORED], query_ids="q,r")
    of_file = gradeval.evaluate("q", "r.json", "RR", query_ids="q,r")
    for results in (gradeval.evaluate("q", run, "RR"), gradeval.evaluate("q", of_data, "RR")):
        assert results.per_query(0, "RR") == of_file.per_query(0, "RR") == {"q": 1.0, "r": 0.0}
    raises(gradeval.OptionError, "which no file has without ids", gradeval.read_run, "r.run", query_ids="q")
    for line in ("convert r.run x.csv", "convert q x.csv", "validate q r.run"):
        assert "--query-ids are those of responses" in command(*line.split(), "--query-ids", "q").err
