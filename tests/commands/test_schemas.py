"""JSON documents follow the schemas that they name: sample data, odd files, and options that add keys."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cli.command import fails, gradeval, query_ids, write_graded
from helpers import check_each

import gradeval as package

GUIDE = Path(package.__file__).parent / "guide"
SAMPLE_DATA = Path(package.__file__).parents[1] / "sample_data"
NAMES = sorted(path.stem for path in (GUIDE / "schemas").iterdir())


MANIFEST = """\
metrics = "AP nDCG@10"
qrels = "qrels"
runs = "{system}.run"
systems = ["a", "b", "c"]
collections = ["whole"]
"""


@cache
def validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads((GUIDE / "schemas" / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and all within it that describe objects with keys of their own."""
    if isinstance(schema, dict):
        if "properties" in schema and "required" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@pytest.mark.parametrize("name", NAMES)
def test_the_schemas_themselves(name: str) -> None:
    """Objects are closed, and describe each key."""
    schema = validator(name).schema
    assert schema["properties"]["schema"]["const"] == f"gradeval/{name}/1"
    for part in objects(schema):
        assert part["additionalProperties"] in (False, {"type": ["number", "null"]})
        for key, value in part["properties"].items():
            assert value["description"].endswith("."), key


def test_what_several_schemas_define() -> None:
    """It is the same in all of them."""
    schemas = [json.loads((GUIDE / "schemas" / f"{name}.json").read_text("utf-8")) for name in NAMES]
    for shared in ("notice", "comparison"):
        first, *more = (schema["$defs"][shared] for schema in schemas if shared in schema.get("$defs", {}))
        assert more and all(definition == first for definition in more)


def test_the_guide() -> None:
    page = gradeval("guide", "schemas").out
    assert re.findall(r"^\| (\w+) \| `", page, re.MULTILINE) == NAMES
    for name in NAMES:
        text = (GUIDE / "schemas" / f"{name}.json").read_text("utf-8")
        assert gradeval("guide", "schemas", name) == (0, text, "")
    unknown = "gradeval: there is no schema 'zzz': choose from batch, comparison, "
    assert fails("guide", "schemas", "zzz").startswith(unknown)
    for args in (("ci", "gate"), ("schemas", "gate", "--search", "x")):
        assert "NAME is that of a schema: gradeval guide schemas NAME." in fails("guide", *args)


@pytest.fixture
def files(folder: Path) -> None:
    """Beside q, r, l and s: 30 graded queries with three runs, groups, weights, and files that are wrong."""
    write_graded(query_ids(30), {"a": 2, "b": 4, "c": 6})
    texts = {
        "groups": "".join(f"{query}\tg{n % 2}\n" for n, query in enumerate(query_ids(30))),
        "weights": "".join(f"{query}\t{n % 3}\n" for n, query in enumerate(query_ids(30))),
        "broken.run": "q1 Q0 b 1 x tag\n",
        "few": "q01 Q0 d1 1 1 t\n",
        "none": "zz 0 d1 1\n",
        "ties": "".join(f"{query} Q0 d{d} 1 1 t\n" for query in query_ids(30) for d in range(9)),
        "judged": "".join(f"{query} 0 d{d} {d % 3}\n" for query in query_ids(30) for d in range(5)),
        "judged2": "".join(f"{query} 0 d{d} {d % 2}\n" for query in query_ids(30) for d in range(7)),
        "zero": "q1 0 a 0\n",
        "titles": "d1\tThe first\n",
        "queries": "q00\tWhat is it?\n",
        "empty": "",
        "values": "".join(f"AP {query} 0.{n}\n" for n, query in enumerate(query_ids(30))),
        "values2": "".join(f"AP {query} {n / 31}\n" for n, query in enumerate(query_ids(30))),
        "m.toml": MANIFEST,
        "log": '{"run": "a", "query": "all", "metric": "AP", "value": 0.5, "low": 0.4, "signature": "AP"}\n'
        * 2,
        "failing.toml": MANIFEST.replace('"c"', '"broken", "gone"'),
    }
    for name, text in texts.items():
        Path(name).write_text(text)


CASES = {  # the exit code, and a command line
    "results": (
        (0, f"{SAMPLE_DATA}/search/qrels.txt {SAMPLE_DATA}/search/bm25.run {SAMPLE_DATA}/search/dense.run -q"),
        (0, "qrels a.run few -q -m 'num_q runid relstring nDCG@10 AP muAP nDCGphi@5 rankDCG iprec_at_recall'"),
        (0, "qrels ties a.run --tie-range -q"),
        (0, "qrels a.run --interval bootstrap --signature -q"),
        (0, "qrels a.run --bounds -q --by groups"),
        (0, "qrels a.run --query-weights weights"),
        (0, "q r -q -n --no-relevant skip"),
        (0, "q r -m rankDCG --by-level --queries both -J --depth 1"),
        (0, "l --feature 1,2 -q"),
        (0, "l s"),
        (2, "qrels a.run broken.run"),
    ),
    "comparison": (
        (
            0,
            "compare qrels a.run b.run c.run -m 'AP nDCG@10' --worst 2 --best 1 --power --anova -q --signature",
        ),
        (0, "compare qrels a.run b.run -m 'AP nDCG@10 tau' --bounds"),
        (0, "compare qrels a.run b.run c.run --all-pairs --test tukey --by groups --worst 1"),
        (0, "compare qrels a.run few b.run --test bootstrap --min-coverage 50 --baseline b"),
        (0, "compare qrels a.run b.run --test wilcoxon --correction none"),
        (0, "compare qrels a.run a.run b.run --query-weights weights"),
        (0, "compare --values values values2"),
    ),
    "gate": (
        (0, "gate qrels a.run --require 'AP >= 0.1' --min-coverage 90"),
        (1, "gate qrels few --baseline a.run --max-drop 'AP 1%' --no-worse AP --min-coverage 0"),
        (1, "gate qrels c.run --baseline a.run --max-drop 'AP 1%' --require 'AP > 0' --bounds"),
        (1, "gate qrels c.run --baseline a.run --max-query-drop 'AP 0.001 in 1%' --non-inferior 'AP 0.0001'"),
        (2, "gate qrels few --require 'AP >= 0.1'"),
        (1, "gate b.run --baseline a.run --require 'RBO >= 1 in 50%' --require 'AO@2 >= 0'"),
        (2, "gate qrels broken.run --require 'AP >= 0.1'"),
        (2, "gate none a.run --require 'AP >= 0.1'"),
    ),
    "batch": (
        (0, f"batch {SAMPLE_DATA}/batch.toml"),
        (0, "batch m.toml --baseline a --signature"),
        (0, "batch m.toml --pool"),
        (2, "batch failing.toml --baseline a"),
    ),
    "estimate": (
        (
            0,
            f"estimate {SAMPLE_DATA}/search/people.qrels {SAMPLE_DATA}/search/bm25.run "
            f"{SAMPLE_DATA}/search/dense.run --model-qrels {SAMPLE_DATA}/search/llm.qrels -m 'AP rankDCG'",
        ),
        (0, "estimate judged a.run --model-qrels judged2 --lambda 1 --confidence 90"),
    ),
    "diff": (
        (0, "diff a.run b.run few -q --worst 1 --qrels qrels -m AP"),
        (2, "diff a.run b.run broken.run -k 1,3"),
    ),
    "explanation": (
        (0, "explain qrels a.run -m nDCG@3 --worst 2 --loss --text titles --queries-text queries"),
        (0, "explain qrels a.run --against b.run -m nDCG@3 --query q01"),
        (0, "explain qrels a.run -m nDCGphi@3 --query q01 -J"),
        (0, "explain qrels a.run --against ties -m rankDCG --query q01"),
        (0, "explain qrels a.run -m muAP --query q01"),
        (0, "explain qrels a.run --against b.run -m nDCG@3 --worst 3 --unjudged-grade 1 --exclude titles"),
        (0, "explain qrels a.run -m tau --query q01"),
        (0, "explain zero few -m nDCG@3 --query q1"),
    ),
    "fusion": (
        (0, "fuse a.run b.run -o new.run --method sum"),
        (0, "fuse a.run b.run --tune AP --qrels qrels --step 0.5"),
    ),
    "validation": (
        (0, "validate qrels a.run few"),
        (2, "validate q r l broken.run"),
        (2, "validate empty"),
        (2, "validate missing"),
        (0, "validate none --as qrels"),
    ),
    "study": (
        (0, "study swaps --levels 2,3 --items 8 --repeats 2"),
        (0, "study swaps --levels 3 --items 8 --repeats 1"),
        (0, "study levels qrels a.run b.run"),
        (0, "study divergence --draws 3"),
        (0, "study divergence qrels a.run few"),
        (0, "study criteria"),
        (0, "study agreement qrels a.run b.run c.run"),
        (0, "study agreement judged a.run b.run c.run --qrels2 judged2 --per-query"),
        (0, "study agreement judged --qrels2 judged2 --qrels2 qrels"),
        (0, "study reuse qrels a.run b.run --depth 2"),
    ),
    "plot": (
        (0, "plot curve qrels a.run b.run -m nDCG@1,3"),
        (0, "plot curve qrels a.run -m iprec_at_recall"),
        (0, "plot means qrels a.run b.run"),
        (0, "plot history log"),
        (0, "plot phi qrels"),
        (0, "plot phi qrels --query q01"),
        (0, "plot queries qrels a.run"),
        (0, "plot queries qrels a.run b.run few -m 'AP RR'"),
        (0, "plot swaps --levels 2,3 --items 8 --repeats 2"),
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_documents(files: None, name: str) -> None:
    """Of each command: on sample data, with options that add keys, and of what is wrong or empty."""

    def follows_its_schema(case: tuple[int, str]) -> None:
        code, line = case
        done = gradeval(*shlex.split(line), "-f", "json")
        assert done.code == code, done.err
        document = json.loads(done.out)
        assert document["schema"] == f"gradeval/{name}/1"
        errors = [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)]
        assert errors == []

    check_each(CASES[name], follows_its_schema)
