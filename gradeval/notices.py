"""Notices: caveats about a result as data, and their sentences, a line for each kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any

from gradeval.errors import first_names, named
from gradeval.records import Record, fields_of, grouped

MAX_QUERIES = 20  # whose ids a notice lists
MAX_SUBJECTS = 5  # that the line of a notice lists
ENOUGH_QUERIES = 25  # a comparison of fewer is noted
NO_TITLE, NO_TEXT = "document of the queries has a title", "query has a text"  # the rules of NO_TITLES
ENOUGH_TO_GATE = 50  # and so is a gate with fewer
LEAST_CHANGE = 0.00005  # of a value by the order of ties: a smaller one is not seen in four decimals


class Row(Record, eq=False):
    """The sentence of a kind of notices, and how much it matters. The fields of its templates are those of
    _fields(); [-J|judged_only=True] is an option as it is named in a shell and in Python.
    """

    text: str = ""  # a template for one run, or for all
    several: str = ""  # for several runs
    rules: Mapping[str, str] = {}  # the words for {by_rule}, by Notice.rule, '' for any other
    listed: tuple[str, str] = ("", "")  # a template for each notice, and what joins them, for {listed}
    is_note: bool = False  # whether it is no fault of the files


_OPTION = r"\[([^|\]]+)\|([^\]]+)\]"
_BY_SCORE = (
    "; documents are ranked by score, highest first; if the score column is a rank or a distance, "
    "[--columns rank=NAME|columns='rank=NAME'] or distance=NAME reads it in a table; negate it in a TREC run"
)
_AS_BEIR = "; [--ignore-identical-ids|ignore_identical_ids=True] removes these, as BEIR does by default"
_FEW = f"with fewer than {ENOUGH_QUERIES}, only large differences are found and intervals are rough"
_NOT_JUDGED = (
    "; the others count as not relevant (see {metric}, [--bounds|bounds=True], [-J|judged_only=True], bpref, "
    "[gradeval pool|gradeval.pool])"
)
_FROM_MEANS = "{others:, and # for as many or fewer}, excluded from {others:?the means|its mean}"


class NoticeKind(Enum):
    """The kinds of notices. The value is the name in lower case, as in JSON and --allow; a kind equals it."""

    _value_: str

    def __init__(self, row: Row) -> None:
        self.row = row
        self._value_ = self._name_.lower()

    def __eq__(self, other: object) -> bool:
        return self is other or self._value_ == other

    def __hash__(self) -> int:
        return hash(self._value_)

    @classmethod
    def _missing_(cls, value: object) -> NoticeKind | None:
        return cls.__members__.get(str(value).upper())

    DUPLICATES = Row("{subject}: {count:duplicate judgment|duplicate judgments} with the same grade{alike}")
    MERGED = Row(
        "{subject}: {count:document has|documents have} several judgments, merged by {rule}; they differ for "
        "{total:,}{alike}",
        is_note=True,
    )
    SUBTOPICS = Row(
        "{subject}: {count:document has|documents have} judgments of subtopics; the highest grade "
        "counts{alike}",
        is_note=True,
    )
    UNLABELLED = Row(
        "{subject}: {count:judgment has|judgments have} no label; {count:?its document is|their documents are} "
        "unjudged{alike}",
        is_note=True,
    )
    NO_SUBTOPICS = Row(
        "{subject}: the judgments have no subtopics, so each query is one for {metric}{others: and #}{alike}"
    )
    UNSCALED_ELSEWHERE = Row(
        "{subject}: gains of {metric}{others: and #} are divided by the largest grade of each query (up to "
        "{high}); {rule} does not divide them{alike}",
        is_note=True,
    )
    ALL_RELEVANT = Row(
        "{subject}: all {count:,} judged documents are relevant to {metric}{others: and #}{alike}: the lowest "
        "grade is {low:g}; set the grade of a non-relevant document with [--zero-grade|zero_grade], or the "
        "relevance threshold with [-l|rel]"
    )
    NONE_RELEVANT = Row(
        "{subject}: no judged document "
        "{rule:?has grade #, the threshold of {metric}, or a higher one|is relevant}"
        "{high: (the highest grade is #)}{others:; nor is one for #}{alike}"
    )
    NO_RELEVANT = Row(
        "{subject}: {differing:# }{count:query has|queries have} "
        "{differing:?no document that is relevant to {metric}|no relevant document}, {by_rule} of "
        "{metric}{others: and of #}{alike}{asked:?| (see [--no-relevant|no_relevant])}",
        rules={
            "skip": "excluded from the mean",
            "1": "counted as 1 in the mean",
            "": "counted as 0 in the mean",
        },
    )
    EXTRA_FIELDS = Row(
        "{subject}: {count:line has|lines have} more than 6 fields, the first is line {rule}; what follows "
        "the tag is ignored",
        "{runs} have lines with more than 6 fields, up to {count:,} ({subject}, the first is line {rule}); "
        "what follows the tag is ignored",
    )
    TEXT = Row("{subject}: the text is not UTF-8, or lines end in LF and CRLF")
    RANKS = Row(
        "{subject}: {by_rule} in {count:,} of the first {total:query|queries}" + _BY_SCORE,
        "{runs} have ranks that contradict the scores ({names})" + _BY_SCORE,
        rules={"scores": "the scores are the ranks 1, 2, 3, …", "": "the rank column contradicts the scores"},
    )
    BY_RANK = Row(
        "{subject}: there are no scores; documents are ranked by the column {rule}, the lowest first",
        "{runs} have no scores; documents are ranked by a column of ranks, the lowest first ({names})",
        is_note=True,
    )
    SAME_RANKING = Row(
        "{subject} and {rule} have the judged documents at the same ranks",
        "{counted} have the judged documents at the same ranks as others ({listed})",
        listed=("{subject} as {rule}", "; "),
        is_note=True,
    )
    MISSING = Row(
        "{subject}: {count:judged query is|judged queries are} not in the run{queries: (#)}, {by_rule}",
        "{runs} lack judged queries, up to {count:,} ({subject}{queries:: #}), {by_rule}",
        rules={
            "both": "excluded",
            "trec_eval": "excluded; -c counts them as 0",
            "empty": "evaluated with an empty ranking",
            "": "counted as 0",
        },
    )
    UNJUDGED = Row(
        "{subject}: {count:unjudged query|unjudged queries} of the run, ignored",
        "{runs} have unjudged queries, up to {count:,} ({subject}), ignored",
    )
    NOTHING_JUDGED = Row(
        "{subject}: no document of the run is judged; check the document ids",
        "{runs} have no judged document ({names}); check the document ids",
    )
    QRELS_AS_RUN = Row(
        "{subject}: every document is judged and its score is its grade; is this the qrels file?",
        "{runs} hold judged documents only, whose scores are their grades ({names}); are these qrels files?",
    )
    COLLAPSED = Row(
        "{subject}: {count:,} {rule}{count:?|s} collapsed: each document counts once, with its best score",
        "{runs} have {rule}s that are collapsed, up to {count:,} ({subject}): each document counts once, with "
        "its best score",
        is_note=True,
    )
    EXCLUDED = Row(
        "{subject}: {count:excluded document|excluded documents} removed",
        "{runs} have excluded documents, removed, up to {count:,} ({subject})",
        is_note=True,
    )
    EXCLUDED_JUDGMENTS = Row(
        "{subject}: {count:judgment|judgments} of excluded documents removed{rule:; #}{alike}", is_note=True
    )
    EXCLUDED_RELEVANT = Row(
        "{subject}: {count:excluded document is|excluded documents are} relevant (queries {queries}){alike}"
    )
    IDENTICAL_IDS = Row(
        "{subject}: {count:query retrieves|queries retrieve} a document with the query's id ({queries})"
        + _AS_BEIR,
        "{runs} have documents with the id of their query, in up to {count:query|queries} ({subject})"
        + _AS_BEIR,
    )
    JUDGED_SHARE = Row(
        "{subject}: {share} of the first {cutoff} documents are judged" + _NOT_JUDGED,
        "{runs} have few judged documents, down to {share} of the first {cutoff} documents ({subject})"
        + _NOT_JUDGED,
    )
    TIES = Row()  # the sentence: _ties()
    FEW_DOCUMENTS = Row(
        "{subject}: fewer documents than the cutoff in {count:,} of {total:query|queries} "
        "({metric}{others: and #})",
        "{runs} have fewer documents than the cutoff, in up to {count:,} of {total:query|queries} ({metric} of "
        "{subject})",
        is_note=True,
    )
    DEPTH = Row(
        "{subject:#: }runs differ in depth{collections: (and on #)}: {rule}; {metrics} {depend} on it "
        "({subject:?depth = |[-M |depth=]}{low:.0f})"
    )
    UNDEFINED = Row(
        "{subject}: {metric} is undefined for {count:query|queries}" + _FROM_MEANS,
        "{runs}: {metric} is undefined for up to {count:query|queries} ({subject})" + _FROM_MEANS,
    )
    NOT_SEPARABLE = Row(
        "{count:,} of {total:neighbouring pair|neighbouring pairs} {count:?is|are} not separable at {rule} % "
        "([compare --all-pairs|compare(..., all_pairs=True)] shows which)",
        is_note=True,
    )
    WEIGHTED = Row("means are weighted by {rule:?#|[--query-weights|query_weights]}", is_note=True)
    UNKNOWN_WEIGHTED = Row(
        "{rule:#: }{count:query with a weight is|queries with a weight are} not judged, ignored: {queries}",
        is_note=True,
    )
    NO_BOUNDS = Row("no bounds over missing judgments are known of {rule}", is_note=True)
    UNUSED_BASELINE = Row(
        "no check compares the run with its baseline {subject} ([--max-drop, --no-worse|max_drop, no_worse] "
        "and others do)",
        is_note=True,
    )
    QUERY_ALL = Row("a query is named 'all', like the summary; [-n|summary=False] omits the summary")
    # of comparisons
    MISSING_VALUES = Row(
        "{subject}: no values for {count:query|queries} of the other tables, "
        "{by_rule}{metric:, excluded for # (lower is better)}",
        "{runs} lack queries of the other tables, up to {count:,} ({subject}), "
        "{by_rule}{metric:, excluded for # (lower is better)}",
        rules={"both": "excluded", "": "counted as 0"},
    )
    EXCLUDED_METRICS = Row(
        "{asked:?{count:metric of a group has|metrics of groups have} no number for each query|"
        "{count:metric is|metrics are} not in every table or saved result}, excluded: {rule}"
    )
    FEW_QUERIES = Row(
        "only {count:query|queries}{by_rule}",
        rules={
            "people": " judged by people; with fewer than 15, λ and the intervals are rough",
            "gate": f"; with fewer than {ENOUGH_TO_GATE}, means depend on few queries and intervals are wide",
            "weighted": f" (the effective number, by the weights); {_FEW}",
            "": f"; {_FEW}",
        },
    )
    SMALL_GROUPS = Row(f"{{count:group has|groups have}} fewer than {ENOUGH_QUERIES} queries: {{rule}}")
    UNGROUPED = Row("{count:query is|queries are} in no group")
    UNKNOWN_GROUPED = Row(
        "{count:query of the groups is|queries of the groups are} not among those evaluated, ignored"
    )
    NO_P = Row("no p-value for {listed}", listed=("{count:comparison|comparisons} ({rule})", ", "))
    JUDGED_DIFFERS = Row(
        "{subject:#: }{metric} of the runs differs, from {low_share} to {high_share}{collections: (and on #)}: "
        "unjudged documents count as not relevant, which favors older systems (see [--bounds|bounds=True])"
    )
    JUDGED_UNKNOWN = Row(
        "{metric} of {subjects} is unknown, so whether the runs differ in it was not checked; save results "
        "with {metric} among the metrics",
        is_note=True,
    )
    SIGNATURES = Row(
        "{subject}: {count:line|lines} of the history, of the {total:,} that {metric} is compared with, "
        "{count:?has|have} another signature{others: (and of #)}: other options, judgments or another version "
        "of gradeval made {count:?it|them}"
    )
    IDS_UNKNOWN = Row(
        "no bounds of differences with {subjects}: saved results have no ids of unjudged documents; give the "
        "runs themselves",
        is_note=True,
    )
    # of batches
    MISSING_RUNS = Row("{count:,} of {total:,} cells {count:?has|have} no run: {rule}")
    NO_BASELINE = Row(
        "nothing is compared on {count:,} of {total:collection|collections} ({rule}): the baseline {subject} "
        "has no value there"
    )
    NOT_IN_BOTH = Row(
        "{listed} not in the other judgments, excluded", listed=("{count:query|queries} of {subject}", " and ")
    )
    MANY_GRADES = Row(
        "the judgments have {count:,} different grades, so that their agreement in grades was left out; round "
        "them to {total:,} at most"
    )
    # of pools
    FORECAST = Row("{rule}", is_note=True)
    # of differences between rankings
    ONLY_OLD = Row(
        "{subject}: {count:query|queries} of {rule} {count:?is|are} not in the run{queries: (#)}, excluded",
        "{runs} lack queries of {rule}, up to {count:,} ({subject}{queries:: #}), excluded",
    )
    ONLY_NEW = Row(
        "{subject}: {count:query is|queries are} not in {rule}{queries: (#)}, excluded",
        "{runs} have queries that {rule} lacks, up to {count:,} ({subject}{queries:: #}), excluded",
    )
    CUT = Row(
        "{subject}: {count:query has|queries have} more than {rule} documents; those below are ignored "
        "([--depth|diff_depth])",
        "{runs} have queries with more than {rule} documents, up to {count:,} ({subject}); those below are "
        "ignored ([--depth|diff_depth])",
        is_note=True,
    )
    # of estimates
    NO_RANDOM_SAMPLE = Row(
        "the queries that people judged differ from the others by the model's judgments ({listed}): estimates "
        "need a random sample of all queries",
        listed=("{rule}", "; "),
    )
    BIAS_DIFFERS = Row(
        "the model's bias differs between runs ({listed}): rankings by its judgments mislead",
        listed=("{rule}", "; "),
    )
    # of options
    AMBIGUOUS_IDS = Row(
        "[--query-ids|query_ids] {subject}: the id is in the qrels, so the file of this name is ignored; "
        "./{subject} names the file"
    )
    NOTHING_RETRIEVED = Row(
        "{subject}: {count:query is|queries are} not in the run, so nothing is retrieved ({queries})",
        "{runs} lack queries, for which nothing is retrieved, up to {count:,} ({subject}: {queries})",
    )
    NO_TITLES = Row("{subject}: no {rule} in it; are the ids those of the runs?")
    NO_GLYPHS = Row("the font of saved pictures lacks {rule}, shown as boxes; label the runs with NAME=RUN")


class EvaluationWarning(UserWarning):
    """What a user should know about a result, as a warning of Python; Results.notices has the same as data.

    >>> warnings.simplefilter("ignore", gradeval.EvaluationWarning)
    """


OF_QRELS = (
    *(NoticeKind.DUPLICATES, NoticeKind.UNLABELLED, NoticeKind.SUBTOPICS, NoticeKind.NO_SUBTOPICS),
    *(NoticeKind.EXCLUDED_JUDGMENTS, NoticeKind.EXCLUDED_RELEVANT),
    *(NoticeKind.UNSCALED_ELSEWHERE, NoticeKind.ALL_RELEVANT, NoticeKind.NONE_RELEVANT, NoticeKind.NO_RELEVANT),
)


class Notice(Record):
    """One thing that a user should know about a result. The template of its kind shows what its fields hold."""

    kind: NoticeKind
    # the run; of OF_QRELS, the qrels; '' for a comparison; of a batch, the collection or COLLECTION/SYSTEM; the
    # value of --query-ids, or the file of titles
    subject: str
    # how many queries it is about; for DUPLICATES, SUBTOPICS, ALL_RELEVANT and QRELS_AS_RUN documents, for
    # EXTRA_FIELDS and COLLAPSED lines, for others what the template says
    count: int
    # the canonical name of the metric it is about, '' for all; of MISSING_VALUES, the metrics for which the
    # queries are excluded
    metric: str = ""
    queries: Sequence[str] = ()  # the ids of the first of them, MAX_QUERIES at most
    rule: str = ""  # the option that decided what was done, or another word
    # for TIES, the summary value that was printed, None where it is undefined; for JUDGED_SHARE, the share
    value: float | None = None
    # for TIES, the range of the summary value over the orders tried, None for texts; else of the grades, shares
    # or depths
    low: float | None = None
    high: float | None = None
    expected: float | None = None  # for TIES, the mean over all orders, None without a closed form
    at_most: bool = False  # for TIES, whether no other order goes beyond the range
    total: int = 0  # of how many the count is
    # whether it was asked for, or is no fault of the files: --strict lets it pass
    informational: bool = False
    judgments: str = ""  # of two sets of judgments, the one by which a run has it, '' for both
    undefined: int = 0  # for TIES, queries whose value another order makes undefined

    def __post_init__(self) -> None:
        if self.kind.row.is_note:
            self.__dict__["informational"] = True

    def __str__(self) -> str:
        return next(lines([self], in_python=True))

    @property
    def change(self) -> float:
        """The largest difference from the printed value over the orders of ties tried."""
        if self.value is None or self.low is None or self.high is None:
            return 0.0
        return max(self.high - self.value, self.value - self.low)

    @property
    def concerns_means(self) -> bool:
        """False for TIES that change values of queries, and the mean by less than is seen."""
        is_small = self.kind is NoticeKind.TIES and self.change < LEAST_CHANGE
        is_number = self.value is not None and self.low is not None
        return not (is_small and is_number and not self.undefined)

    def to_dict(self) -> dict[str, Any]:
        """The notice as in JSON, with its sentence; fields that have their default are left out."""
        values = fields_of(self).items()
        content = {name: value for name, value in values if value not in ("", (), getattr(Notice, name, ""))}
        if self.kind is NoticeKind.TIES:
            content["at_most"] = self.at_most
        if self.queries:
            content["queries"] = list(self.queries)
        return {**content, "kind": self.kind.value, "text": next(lines([self]))}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], subject: str) -> Notice:
        """The notice that to_dict wrote, about another subject. Raises ValueError, TypeError, KeyError."""
        checked: dict[str, Any] = {"int": int, "bool": bool, "str": str, "float | None": (int, float)}
        types = {name: checked[kind] for name, kind in cls.__annotations__.items() if kind in checked}
        values = {name: content[name] for name in types if name in content}
        if any(not isinstance(value, types[name]) for name, value in values.items()):
            raise ValueError("a value is not valid")
        queries = tuple(map(str, content.get("queries", ())))
        return cls(**{**values, "kind": NoticeKind(content["kind"]), "subject": subject, "queries": queries})


class Notices(tuple[Notice, ...]):
    """Notices in order, of which rooms take those that they are about."""

    __slots__ = ()

    def about(self, subject: str) -> Notices:
        """Those about a run."""
        return Notices(notice for notice in self if notice.subject == subject)

    def only(self, *kinds: NoticeKind) -> Notices:
        return Notices(notice for notice in self if notice.kind in kinds)

    def without(self, *kinds: NoticeKind) -> Notices:
        return Notices(notice for notice in self if notice.kind not in kinds)

    def of_metrics(self, names: Collection[str]) -> Notices:
        """Those about these metrics, about all, and about the share of judged documents."""
        return Notices(
            notice
            for notice in self
            if not notice.metric or notice.metric in names or notice.kind is NoticeKind.JUDGED_SHARE
        )

    def renamed(self, subject: str) -> Notices:
        """The same of another subject."""
        return Notices(notice.replace(subject=subject) for notice in self)


def by_judgments(paths: Sequence[str], by_set: Sequence[Notices]) -> Iterator[tuple[Notice, ...]]:
    """The notices by each set of judgments; those of a run by some of the sets only name them."""
    of_all = set(by_set[0]).intersection(*by_set)
    for path, notices in zip(paths, by_set, strict=True):
        yield tuple(n if n.subject == path or n in of_all else n.replace(judgments=path) for n in notices)


def lines(notices: Iterable[Notice], runs: int = 1, *, in_python: bool = False) -> Iterator[str]:
    return (sentence for _, sentence in sentences(notices, runs, in_python=in_python))


def sentences(
    notices: Iterable[Notice], runs: int = 1, *, in_python: bool = False
) -> Iterator[tuple[NoticeKind, str]]:
    """A sentence for each kind of notice. runs: how many there are. in_python: how options are named."""
    for kind, group in grouped((notice.kind, notice) for notice in notices).items():
        if kind is NoticeKind.TIES:
            line = _ties(group, runs, in_python)
        else:
            template = kind.row.several if kind.row.several and len(_subjects(group)) > 1 else kind.row.text
            template = re.sub(_OPTION, r"\2" if in_python else r"\1", template)
            line = template.format(**_fields(kind.row, group, runs))
        judgments = max(notice.judgments for notice in group)
        yield kind, (f"by {judgments}: " if judgments else "") + line


def many(count: int, singular: str, plural: str) -> str:
    """'1 query is', '2,000 queries are'."""
    return f"{count:,} {singular if count == 1 else plural}"


def _subjects(group: Sequence[Notice]) -> list[str]:
    return list(dict.fromkeys(notice.subject for notice in group))


def _others(group: Sequence[Notice]) -> str:
    """'2 other metrics', those that a group is about besides one; '' if there are none."""
    count = len({notice.metric for notice in group}) - 1
    return many(count, "other metric", "other metrics") if count else ""


class _Count(int):
    """A number in templates: {count:query is|queries are} is '1 query is', {count:?has|have} only the word."""

    def __format__(self, spec: str) -> str:
        if "|" not in spec:
            return format(int(self), spec)
        singular, plural = spec.removeprefix("?").split("|")
        if not spec.startswith("?"):
            return many(self, singular, plural)
        return singular if self == 1 else plural


class _Words(str):
    """A text in templates: {rule: (#)} is the rule in brackets, or ''; {rule:?a|b} is a with a rule, else b."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        present, _, absent = (spec or "#").removeprefix("?").partition("|")
        return (present if self else absent).replace("#", self)


def _fields(row: Row, group: Sequence[Notice], runs: int) -> dict[str, Any]:
    """The values that templates name: of the notice about most queries, or of the most extreme, and of all."""
    notice = _foremost(group)
    alike = [other for other in group if other.subject == notice.subject]
    subjects = _subjects(group)
    elsewhere = len(subjects) - 1
    template, joint = row.listed
    listed = (
        template.format(count=_Count(other.count), subject=other.subject, rule=other.rule)
        for other in group[:MAX_SUBJECTS]
    )
    return {
        **_fields_of_notice(notice),
        "metrics": first_names([other.metric for other in alike], MAX_SUBJECTS),
        "depend": "depends" if len(alike) == 1 else "depend",
        "by_rule": row.rules.get(notice.rule, row.rules.get("", "")),  # the rule may be of a file of results
        "differing": _Words("" if len({other.count for other in alike}) < 2 else "up to"),
        "runs": f"{len(subjects):,} of {runs:,} runs",
        "names": first_names(subjects, 3),
        "subjects": first_names(subjects, MAX_SUBJECTS),
        "others": _Words(_others(group)),
        "alike": f" (and {elsewhere:,} other qrels alike)" if elsewhere else "",
        "collections": _Words(many(elsewhere, "other collection", "other collections") if elsewhere else ""),
        "listed": joint.join(chain(listed, ["…"] if len(group) > MAX_SUBJECTS else [])),
        "counted": f"{sum(other.count for other in group):,} of {runs:,} runs",
    }


def _foremost(group: Sequence[Notice]) -> Notice:
    notice = max(group, key=lambda notice: notice.count)
    if notice.count:
        return notice
    # they are about a value
    return max(group, key=lambda notice: ((notice.high or 0) - (notice.low or 0), -(notice.value or 0)))


def _share(percent: float) -> str:
    """A share for a sentence: one just below a tenth, which may be a limit, is not rounded to it."""
    rounded = round(percent)
    is_short = rounded % 10 == 0 and percent < rounded - 1e-9
    return f"{int(10 * percent) / 10:.1f} %" if is_short else f"{rounded} %"


def _fields_of_notice(notice: Notice) -> dict[str, Any]:
    return {
        "subject": _Words(notice.subject),
        "metric": _Words(notice.metric),
        "cutoff": notice.metric.partition("@")[2],
        "rule": _Words(notice.rule),
        "count": _Count(notice.count),
        "total": _Count(notice.total),
        "low": notice.low or 0,
        "high": _Words("" if notice.high is None else f"{notice.high:g}"),
        "share": _share(100 * (notice.value or 0)),
        "low_share": f"{100 * (notice.low or 0):.1f} %",
        "high_share": f"{100 * (notice.high or 0):.1f} %",
        "queries": _Words(first_names(map(named, notice.queries), MAX_SUBJECTS)),
        "asked": _Words("asked" if notice.informational else ""),
    }


def _ties(group: Sequence[Notice], runs: int, in_python: bool) -> str:
    notice = max(group, key=lambda notice: (notice.change, notice.undefined))
    tied = len(_subjects(group))
    if tied > 1:
        shows = "evaluate(..., tie_range=True)" if in_python else "'gradeval QRELS RUN --tie-range'"
        scores = f"{tied:,} of {runs:,} runs have tied scores"
        return f"{scores} whose order could change {_largest_change(notice)}; {shows} shows all"
    other_metrics = _others(group)
    more = f", and {other_metrics} by less" if other_metrics else ""
    return f"{notice.subject}: {_ties_of_run(notice, in_python)}{more}"


def _largest_change(notice: Notice) -> str:
    """What ties change most, of several runs."""
    metric = f"{notice.metric} of {notice.subject}"
    if not notice.change and notice.low is not None:
        return f"values; {metric} {_becomes(notice)}"
    return f"values, by {_change(notice)} in {metric}"


def _ties_of_run(notice: Notice, in_python: bool) -> str:
    metric = notice.metric
    queries = many(notice.count, "query", "queries")
    if notice.low is None:
        rule = f"ties='{notice.rule}'" if in_python else f"--ties {notice.rule}"
        return f"ties could change {metric} in {queries}; they are ordered by {rule}"
    digits = _digits(notice)
    low, high = (f"{end or 0:.{digits}f}" for end in (notice.low, notice.high))
    if notice.value is None:
        return f"{metric} is undefined, and other orders of ties in {queries} make it {low} to {high}"
    if not notice.change:
        return f"ties in {queries} could change {metric}, which {_becomes(notice)}"
    expected = "" if notice.expected is None else f"; expected {notice.expected:.{digits}f}"
    undefined = f"; it becomes undefined for {notice.undefined:,} of them" if notice.undefined else ""
    return (
        f"ties in {queries} could change {metric} by {_change(notice)} ({low} to {high}{expected}){undefined}"
    )


def _change(notice: Notice) -> str:
    return f"{'up to' if notice.at_most else 'at least'} {notice.change:.{_digits(notice)}f}"


def _becomes(notice: Notice) -> str:
    return "becomes undefined" if notice.undefined else "is undefined in some orders"


def _digits(notice: Notice) -> int:
    return 8 if 0 < notice.change < LEAST_CHANGE else 4
