"""All public names of Python in use: tests/test_keywords.py checks the types, and nothing runs it."""

from typing import Any

from ir_measures import AP, nDCG

import gradeval
from gradeval import (
    Batch,
    Comparison,
    Diff,
    Estimates,
    EvaluationWarning,
    Evaluator,
    Explanation,
    Fusion,
    GateReport,
    GradevalError,
    InputError,
    MetricError,
    OptionError,
    Pool,
    Report,
    Results,
    Validation,
)
from gradeval.plot import curve, means
from gradeval.pytrec_eval import RelevanceEvaluator
from gradeval.spark import SparkResults
from gradeval.study import criteria, swaps

QRELS, RUNS = "qrels.txt", ["bm25.run", "dense.run"]

results: Results = gradeval.evaluate(
    QRELS, RUNS, "nDCG@10 AP", ties="worst", rel=2, query_ids=["1"], no_relevant=1
)
best: float = results.run("bm25")["AP"] + results.mean(0, AP) + results["nDCG@10"]["dense"]
results.save("saved.json")
again: Results = gradeval.load("saved.json")
text: str = again.render("json", per_query=True) + results.signature(0, nDCG @ 10) + results.bibtex()
low, high = results.interval("bm25", "AP", confidence=90)
comparison: Comparison = gradeval.compare(QRELS, RUNS, AP, test="sign", correction=None, by={"1": "short"})
rows = [row["p"] for row in gradeval.compare(results, metrics="AP").rows()]
p: float = results.compare(all_pairs=True, test="tukey").find("dense", "AP").p_corrected
tables: Comparison = gradeval.compare_tables(["a.csv", results], lower_is_better="latency")
report: GateReport = gradeval.gate(QRELS, "bm25.run", require=["AP >= 0.2"], baseline=again, max_drop="AP 2%")
code: int = report.exit_code if report.held else 1
page: Report = gradeval.report(results, title="both")
evaluator = Evaluator(QRELS, depth=10, columns={"query": "user"}, warnings="ignore")
evaluator.evaluate("a.run").per_query("a", "AP")
evaluator.evaluate_arrays(query=["q"], document=[[1]], score=[[0.5]]).per_query("AP")
explained: list[Explanation] = list(gradeval.explain(QRELS, "bm25.run", ties="input"))
fused: Fusion = gradeval.fuse(RUNS, method="rrf", k=60)
change: Diff = gradeval.diff("old.run", "new.run")
judged_next: Pool = gradeval.pool(QRELS, RUNS, order="rrf", top=20)
estimates: Estimates = gradeval.estimate("people", RUNS, model_qrels="llm", confidence=90)
nightly: Batch = gradeval.batch("batch.toml", baseline="bm25")
checked: Validation = gradeval.validate(QRELS, RUNS)
gradeval.convert("a.run", "a.parquet", sort=True)
qrels = gradeval.read_qrels(QRELS, merge="median")
run = gradeval.read_run("a.run", run_format="msmarco")
scores = gradeval.score_arrays([AP], grade=[1], score=[1], ties="expected", rel=">0", no_relevant="skip")
value: float = scores["AP"] + scores[nDCG @ 10]
names: list[str] = [row["name"] for row in gradeval.list_metrics() if row["graded"]]
curve(results, judged_only=False, confidence=90).save("curve.svg")
means(QRELS, RUNS, "AP").axes[0].set_title("means")
gradeval.plot.queries(QRELS, RUNS, baseline="bm25").table("summary").to_pandas()
gradeval.plot.phi(QRELS, query="401")
gradeval.plot.swaps("nDCG", levels=[2, 3])
swaps("nDCG rankDCG", seed=2).table("distances")
print(criteria("rankDCG"), gradeval.study.levels(QRELS, RUNS), gradeval.study.agreement(QRELS, RUNS, splits=10))
print(gradeval.study.reuse(QRELS, RUNS, pool_depth=10), gradeval.study.divergence(cutoff=5))
RelevanceEvaluator({"q": {"d": 1}}, {"map"}).evaluate({"q": {"d": 1.0}})
FRAME: Any = None  # of PySpark, which need not be installed
spark: SparkResults = gradeval.spark.evaluate(FRAME, FRAME)
try:
    gradeval.evaluate(QRELS, "a.run", [nDCG @ 10, AP, "RR"])
except (InputError, MetricError, OptionError, EvaluationWarning, GradevalError) as error:
    print(error, gradeval.__version__)
