"""The cells of the notebook that tests/test_notebook.py executes."""

CELLS = [
    """
import gradeval
from ir_measures import nDCG

qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
good = {f"q{q}": {"a": 3.0, "b": 2.0 + q % 2, "c": 1.0} for q in range(6)}
bad = {f"q{q}": {"c": 3.0, "b": 2.0, "a": 1.0} for q in range(5)}
gradeval.evaluate(qrels, {"good": good, "bad": bad}, "nDCG@1,2 MRR@10")  # a table, and a warning
""",
    """
results = gradeval.evaluate(qrels, {"good": good, "bad": bad}, "nDCG@1,2 MRR@10")
results.save("saved.json")
same = gradeval.load("saved.json")
assert same.run("good")["MRR@10"] == results.means_frame()["MRR@10"]["good"]
assert results[nDCG @ 2] == same["nDCG@2"]
assert gradeval.load(results.to_dict()).run("bad") == results.run("bad")
comparison = gradeval.compare(results, by={f"q{q}": "odd" if q % 2 else "even" for q in range(6)})
assert gradeval.compare_tables(results.per_query_frame("polars")).comparisons
assert gradeval.gate(qrels, good, require="nDCG@2 >= 0.9").held
comparison
""",
    """
from gradeval.plot import curve, means

records = [{"query_id": q, "doc_id": d, "score": s} for q, run in good.items() for d, s in run.items()]
assert gradeval.evaluate(qrels, records, "AP")["AP"] == {"run1": 1.0}
relevant = {query: {"a", "b"} for query in qrels}
assert gradeval.evaluate(relevant, {query: ["a", "b"] for query in qrels}, "AP")["AP"] == {"run1": 1.0}
assert {"curve", "means"} < {*dir(gradeval.plot)} and "np" not in dir(gradeval.plot) and gradeval.pytrec_eval
picture = means(results)
picture.axes[0].set_title("good and bad")
picture
""",
    """
gradeval.evaluate(qrels, "nowhere.run")
""",
]
