"""The peers, each as: its names of measures -> query -> value, on a collection."""

import logging
import math
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from .data import Collection

Values = dict[str, dict[str, float]]
Evaluate = Callable[[Sequence[str], Collection], Values]


@dataclass(frozen=True)
class Peer:
    """Somebody who computes our metrics.

    names: its measures -> ours. evaluate: does it. needs: the module it is in. ties: how it orders tied scores,
    a name in data.ORDERS, 'ours' for what we do, '' where it is not asked about them. tolerance: how far its
    digits go. fits: what it can take. no_relevant: the option of ours with which it counts queries without a
    relevant document.
    """

    name: str
    names: Mapping[str, str]
    evaluate: Evaluate
    needs: str
    ties: str = ""
    tolerance: float = 1e-9
    fits: Callable[[Collection], bool] = lambda given: True
    no_relevant: str | None = None

    @property
    def there(self) -> bool:
        if self.name.endswith("gdeval") and shutil.which("perl") is None:
            return False
        return find_spec(self.needs) is not None


CUTS = (1, 5, 10)
RECALLS = tuple(f"{tenth / 10:.2f}" for tenth in range(11))
TREC = [
    *("map", "ndcg", "recip_rank", "Rprec", "bpref", "infAP", "11pt_avg", "Rndcg", "ndcg_rel", "G", "binG"),
    *("set_P", "set_recall", "set_F", "set_map", "set_relative_P", "utility"),
    *("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"),
    *(f"{name}_{k}" for name in ("P", "recall", "success", "map_cut", "ndcg_cut", "relative_P") for k in CUTS),
    *(f"iprec_at_recall_{recall}" for recall in RECALLS),
    *(f"Rprec_mult_{tenth / 10:.2f}" for tenth in range(2, 21, 2)),
]


def ours_of_trec(name: str) -> str:
    """Our name: it is trec_eval 9's code, which rounded up where 10 rounds."""
    if name == "11pt_avg":
        return "11pt_avg(rounding=up)"
    stem, _, recall = name.rpartition("_")
    return f"{stem}(rounding=up)@{recall}" if stem == "iprec_at_recall" else name


def pytrec_eval(names: Sequence[str], given: Collection) -> Values:
    import pytrec_eval

    asked: dict[str, list[str]] = {}
    for name in names:
        stem, _, value = name.rpartition("_")
        if value.replace(".", "").isdigit():
            asked.setdefault(stem, []).append(value)
        else:
            asked.setdefault(name, [])
    measures = {stem + ("." + ",".join(values) if values else "") for stem, values in asked.items()}
    found = pytrec_eval.RelevanceEvaluator(given.qrels, measures).evaluate(given.run)
    return {name: {query: of[name] for query, of in found.items()} for name in names}


BY_PROVIDER = {
    "pytrec_eval": """
        AP AP(rel=2) AP@5 AP(judged_only=True) P@5 P(rel=2)@5 P(judged_only=True)@5 R@5 R(rel=3)@5 RR RR(rel=2)
        Rprec Rprec(rel=2) Rprec(judged_only=True) nDCG nDCG@5 nDCG(gains={0:0,1:5,2:1})@5
        nDCG(judged_only=True)@5 Success(rel=2)@3 SetP SetP(rel=2) SetRelP SetP(judged_only=True) SetR
        SetR(rel=2) SetF SetF(beta=0.5) SetF(rel=2,beta=2.0) SetAP SetAP(rel=2) Bpref Bpref(rel=2) infAP
        infAP(rel=2) IPrec@0.1 IPrec@0.5 IPrec(judged_only=True)@0.3 NumRet NumRel NumRelRet NumRet(rel=2)
    """,
    "cwl_eval": """
        INST(max_rel=4) INST(T=0.3,max_rel=3) INST(T=4.0,min_rel=1,max_rel=3) INSQ(max_rel=4)
        INSQ(T=2.5,max_rel=2) BPM(max_rel=4)@10 BPM(T=2.0,max_rel=2)@20 BPM(T=0.5,max_rel=3)@5
        SDCG(max_rel=4)@10 SDCG(min_rel=1,max_rel=3)@5 NERR8(max_rel=4)@10 NERR8(min_rel=1,max_rel=2)@5
        NERR9(max_rel=4)@10 NERR9(max_rel=2)@20 NERR10(max_rel=4) NERR10(p=0.99,max_rel=3) NERR11(max_rel=4)
        NERR11(T=3.0,max_rel=3) P@5 RR RBP(p=0.8,rel=1) RBP(p=0.5,rel=2)
    """,
    "compat": "Compat Compat(p=0.8) Compat(normalize=False) Compat(p=0.5,normalize=False)",
    "accuracy": "Accuracy Accuracy@5 Accuracy(rel=2) Accuracy(rel=2)@10",
    "judged": "Judged Judged@5 Judged@100",
    "gdeval": "ERR@5 ERR@20 nDCG(dcg='exp-log2')@5 nDCG(dcg='exp-log2')@20",
    "msmarco": "RR@5 RR(rel=2)@10",
}


def ir_measures(provider: str) -> Evaluate:
    """One provider of it, one measure at a time: together, its gains and judged_only reach other measures."""

    def evaluate(names: Sequence[str], given: Collection) -> Values:
        import ir_measures
        from ir_measures.providers import registry

        logging.getLogger("ir_measures.cwl_eval").setLevel("ERROR")
        found: Values = {}
        for name in names:
            measure = ir_measures.parse_measure(name)
            if provider == "accuracy":
                found[name] = dict(_one_by_one(registry[provider], measure, given))
                continue
            calculated = registry[provider].iter_calc([measure], given.qrels, given.run)
            values = {one.query_id: one.value for one in calculated}
            # 0/0 where judged_only leaves no document
            found[name] = {query: 0.0 if math.isnan(values[query]) else values[query] for query in given.run}
        return found

    return evaluate


def _one_by_one(provider: Any, measure: Any, given: Collection) -> Iterator[tuple[str, float]]:
    """Of a provider that divides by 0 where all that was retrieved is relevant."""
    for query in given.run:
        value = math.nan
        with suppress(ZeroDivisionError):
            for one in provider.iter_calc([measure], {query: given.qrels[query]}, {query: given.run[query]}):
                value = one.value
        yield query, value


RANX = "map map@5 mrr mrr@5 ndcg ndcg@10 ndcg_burges ndcg_burges@5 dcg@5 dcg_burges@5 r-precision".split()
RANX += "precision precision@5 recall recall@5 f1@5 f1 hit_rate@5 hits hits@5".split()


def ranx(names: Sequence[str], given: Collection) -> Values:
    from ranx import Qrels, Run, evaluate

    run = Run(given.run)
    evaluate(Qrels(given.qrels), run, list(names), return_mean=False)
    return {name: {query: float(value) for query, value in run.scores[name].items()} for name in names}


def scikit_learn(names: Sequence[str], given: Collection) -> Values:
    import numpy as np
    from scipy import stats
    from sklearn import metrics

    def one(name: str, query: str) -> float:
        qrels, run = given.qrels[query], given.run[query]
        name, _, cutoff = name.partition("@")
        if name in ("ndcg_score", "dcg_score", "average_precision_score"):  # of all documents
            documents = sorted(run)
            grades = [qrels.get(d, 0) for d in documents]
            scores = [run[d] for d in documents]
            if name == "average_precision_score":
                return float(metrics.average_precision_score([g > 0 for g in grades], scores))
            k = int(cutoff) if cutoff else None
            return float(getattr(metrics, name)(np.array([grades]), np.array([scores]), k=k))
        if name == "roc_auc_score":  # of the judged ones
            relevant = [grade > 0 for grade in qrels.values()]
            if len(set(relevant)) < 2:
                return math.nan
            return float(metrics.roc_auc_score(relevant, [run.get(d, -1e9) for d in qrels]))
        both = [d for d in qrels if d in run]
        x, y = [run[d] for d in both], [qrels[d] for d in both]
        if len(set(x)) < 2 or len(set(y)) < 2:
            return math.nan
        return float(getattr(stats, name)(x, y).statistic)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: {query: one(name, query) for query in given.run} for name in names}


EXP = "gain=1:1/2:3/3:7/4:15"
NTCIREVAL = {
    "Q-measure": "Q", "Q-measure b10": "Q(beta=10)", "Q@5": "Q@5", "Q@5 exp": f"Q({EXP})@5",
    "MSnDCG@5": "nDCG@5", "MSnDCG@10 exp": "nDCG(gain=exp)@10",
    "nDCG@5": "JKnDCG@5", "nDCG@10 b4": "JKnDCG(base=4)@10",
    "ERR": "ERR(gain=linear,max_grade=4)", "ERR exp": "ERR(max_grade=4)",
    "nERR@5": "nERR(gain=linear,max_grade=4)@5", "nERR@10 exp": "nERR(max_grade=4)@10",
}  # fmt: skip


def ntcireval(names: Sequence[str], given: Collection) -> Values:
    """Where no document is relevant it divides by 0, and we say 0."""
    from pyNTCIREVAL import Labeler
    from pyNTCIREVAL.metrics import ERR, MSnDCG, QMeasure, nDCG, nERR

    def one(name: str, query: str) -> float:
        name, _, mark = name.partition(" ")
        name, _, at = name.partition("@")
        labeler = Labeler(given.qrels[query])
        counts = labeler.compute_per_level_doc_num(5)
        grades = [1, 3, 7, 15] if mark == "exp" else [1, 2, 3, 4]
        cutoff = int(at) if at else None
        metric = {
            "Q-measure": lambda: QMeasure(counts, grades, 10.0 if mark == "b10" else 1.0),
            "Q": lambda: QMeasure(counts, grades, 1.0, cutoff),
            "MSnDCG": lambda: MSnDCG(counts, grades, cutoff),
            "nDCG": lambda: nDCG(counts, grades, 4 if mark == "b4" else 2, cutoff),
            "ERR": lambda: ERR(counts, grades),
            "nERR": lambda: nERR(counts, grades, cutoff),
        }[name]()
        run = given.run[query]
        try:
            value = float(metric.compute(labeler.label(sorted(run, key=lambda d: -run[d]))))
        except ZeroDivisionError:
            value = math.nan
        return 0.0 if math.isnan(value) else value

    return {name: {query: one(name, query) for query in given.run} for name in names}


LABEL_GAIN = {"ndcg@5": "nDCG(gain=0:0/1:1/2:3/3:10/4:20)@5"}
EXP10 = {"ndcg@1": "nDCG(gain=exp)@1", "ndcg@5": "nDCG(gain=exp)@5", "ndcg@10": "nDCG(gain=exp)@10"}


def _boosted(values_of: Callable[[Sequence[str], list[int], list[float]], dict[str, float]]) -> Evaluate:
    """Of boosters without trees, whose predictions are the scores that they start from.

    values_of: the values of a query, from the labels (0 if unjudged) and the scores in the order of the run.
    """

    def evaluate(names: Sequence[str], given: Collection) -> Values:
        found: Values = {name: {} for name in names}
        for query, run in given.run.items():
            labels = [given.qrels[query].get(document, 0) for document in run]
            for name, value in values_of(names, labels, list(run.values())).items():
                found[name][query] = float(value)
        return found

    return evaluate


def _with_lightgbm(**more: Any) -> Evaluate:
    def values_of(names: Sequence[str], labels: list[int], scores: list[float]) -> dict[str, float]:
        import lightgbm
        import numpy as np

        metrics, cutoffs = (sorted({*part}) for part in zip(*(name.split("@") for name in names), strict=True))
        small = {"verbose": -1, "min_data_in_bin": 1, "min_data_in_leaf": 1, "num_threads": 1}
        params = small | {"objective": "lambdarank", "metric": metrics, "eval_at": [*map(int, cutoffs)]} | more
        rows = np.arange(len(labels), dtype=np.float64)[:, None]
        data = lightgbm.Dataset(rows, labels, group=[len(labels)], init_score=scores, params=small)
        values = {name: value for _, name, value, _ in lightgbm.Booster(params, data).eval_train()}
        return {name: values[name] for name in names}

    return _boosted(values_of)


def _with_xgboost(**more: Any) -> Evaluate:
    def values_of(names: Sequence[str], labels: list[int], scores: list[float]) -> dict[str, float]:
        import numpy as np
        import xgboost

        params = {"objective": "rank:ndcg", "eval_metric": list(names), "nthread": 1, **more}
        nothing = np.zeros((len(labels), 1))
        data = xgboost.DMatrix(nothing, label=labels, group=[len(labels)], base_margin=scores)
        shown = xgboost.Booster(params, [data]).eval_set([(data, "all")], 0).split("\t")[1:]
        pairs = (text.removeprefix("all-").rpartition(":") for text in shown)
        return {name: float(value) for name, _, value in pairs}

    return _boosted(values_of)


def same(names: Sequence[str]) -> dict[str, str]:
    """Names that mean the same as they are."""
    return {name: name for name in names}


def _is_ltr(given: Collection) -> bool:
    """Whether it is a file of labels and predictions: a score for each judged document, few grades."""
    return given.complete and given.largest <= 4


# as gradeval/registry/dialects/ir_measures.py says; compat has another order in the ideal ranking
TIES = {"pytrec_eval": "ours", "gdeval": "ours", "cwl_eval": "run", "accuracy": "run"}
TIES |= {"judged": "ascending", "msmarco": "ascending"}
PEERS = [
    Peer("pytrec_eval", {name: ours_of_trec(name) for name in TREC}, pytrec_eval, "pytrec_eval", ties="ours"),
    *(
        Peer(
            f"ir_measures: {provider}",
            same(names.split()),
            ir_measures(provider),
            "cwl" if provider == "cwl_eval" else "ir_measures",
            ties=TIES.get(provider, ""),
            tolerance=5.1e-6 if provider == "gdeval" else 1e-9,  # it prints five places
            fits=lambda given: given.largest <= 4,
        )
        for provider, names in BY_PROVIDER.items()
    ),
    Peer("ranx", same(RANX), ranx, "ranx"),
    Peer(
        "scikit-learn",
        same(["ndcg_score", "ndcg_score@5", "dcg_score", "dcg_score@5", "average_precision_score"]),
        scikit_learn,
        "sklearn",
        fits=lambda given: given.complete and all(len(of) > 1 for of in given.run.values()),
    ),
    Peer("scikit-learn: pairs", same(["roc_auc_score"]), scikit_learn, "sklearn", ties="ours"),
    Peer("SciPy", same(["kendalltau", "spearmanr", "pearsonr"]), scikit_learn, "sklearn", ties="ours"),
    Peer("NTCIREVAL", NTCIREVAL, ntcireval, "pyNTCIREVAL", fits=lambda given: given.largest <= 4),
    *(
        Peer(name, names, evaluate, needs, ties="run", no_relevant=empty, fits=_is_ltr)
        for name, needs, evaluate, names, empty in (
            ("LightGBM", "lightgbm", _with_lightgbm(), EXP10 | {"map@5": "AP(norm=min)@5"}, "1"),
            ("LightGBM: label_gain", "lightgbm", _with_lightgbm(label_gain=[0, 1, 3, 10, 20]), LABEL_GAIN, "1"),
            ("XGBoost", "xgboost", _with_xgboost(), EXP10 | {"ndcg": "nDCG(gain=exp)@32"}, "1"),
            ("XGBoost: linear", "xgboost", _with_xgboost(ndcg_exp_gain=False), {"ndcg@5": "nDCG@5"}, "1"),
            ("XGBoost: ndcg@k-", "xgboost", _with_xgboost(), {"ndcg@5-": "nDCG(gain=exp)@5"}, "0"),
        )
    ),
]
