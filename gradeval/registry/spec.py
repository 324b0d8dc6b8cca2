"""The names of metrics on the command line: 'nDCG(gain=exp)@5,10' to Specs, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gradeval.errors import MetricError, described
from gradeval.records import Record
from gradeval.registry.catalogue import by_name, fold, home_of
from gradeval.registry.metric import REGISTRY, UNCHECKED, Metric, import_family, load
from gradeval.registry.params import Param

if TYPE_CHECKING:
    from gradeval.registry import dialects
else:

    class _Dialects:
        """The module, imported where a name is not one of ours: it takes 2 % of a small command."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("gradeval.registry.dialects"), name)

    dialects = _Dialects()


class Measure(Protocol):
    """A measure of ir_measures, such as nDCG @ 10."""

    def iter_calc(self, qrels: Any, run: Any) -> Any: ...


Metrics: TypeAlias = str | Measure | Iterable[str | Measure]


class Spec(Record):
    """A metric with its given parameters."""

    metric: Metric
    given: tuple[tuple[str, Any], ...] = ()  # (name, value) in the metric's own order
    # the tool in whose spelling it was given, if that tool does not scale gains; specs are equal without it,
    # and pickled without
    unscaled_in: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return self.metric is other.metric and self.given == other.given

    def __hash__(self) -> int:
        return hash((self.metric, self.given))

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.given)

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts, None where all do."""
        return self.params.get("cutoff")

    @property
    def bounds(self) -> str:
        """How its bounds over missing judgments are known: exact, outer, or none."""
        return self.metric.bounded(self.params)

    @property
    def texts(self) -> dict[str, str]:
        return {key: self.metric.by_name[key].text(value) for key, value in self.given}

    def __str__(self) -> str:
        """The canonical name, ASCII; it parses back to this spec."""
        return self.metric.written(self.metric.name, self.texts)

    def __repr__(self) -> str:
        return f"Spec({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its name: a metric is that of the registry, and its function cannot be pickled."""
        return _unpickled, (str(self),)

    @property
    def display(self) -> str:
        """The display name: µAP, nDCGφ@10."""
        return self.metric.written(self.metric.display, self.texts)

    @property
    def trec(self) -> str:
        """The name that trec_eval prints, or the canonical name if trec_eval does not have the measure."""
        return dialects.printed(self.metric.name, self.texts) or str(self)


OneRun: TypeAlias = str | int
"""A run of results: its name, or its position."""
OneMetric: TypeAlias = str | Spec | Measure | int
"""A metric of results: any spelling of its name, or its position."""


def is_num_q(spec: Spec) -> bool:
    return spec.metric.name == "num_q"


def _unpickled(name: str) -> Spec:
    [spec] = parse_one(name)
    return spec


_AT_IN_WORDS = r"(.+)_at_(\d[\d,]*)"  # ndcg_at_10, as in MTEB
_AT_THE_END = r"(.*[^\d,._-])([-._]?)(\d[\d,]*)"  # a cutoff: nDCG10, nDCG-10
_KEYS = {"rel": ("l",)}  # options of trec_eval for parameters
_SHORT = 3  # letters: each other letter makes another acronym, RBO and RBP
_WORDS = {  # names in papers and libraries -> ours, where no tool's notation has them
    word: name
    for name, words in {
        "Success": "hit topkaccuracy hitrate hitratio hr",
        "AP": "avgprec averageprecision meanaverageprecision",
        "P": "prec",
        "RR": "reciprocalrank meanreciprocalrank",
        "F": "fmeasure fscore f1measure f1score",
        "tau": "kendallstau",
        "rho": "spearmanrho spearmansrho",
    }.items()
    for word in words.split()
}
_METRICS: dict[str, Metric] = {}  # by folded name: those of the families imported so far, and of plugins
_REGISTERING = RLock()


def parse(text: Metrics) -> list[Spec]:
    """The Specs named by one or several texts, in order, without repetition. Raises MetricError."""
    return list(dict.fromkeys(spec for _, specs in named_specs(text) for spec in specs))


def asked_names(text: Metrics) -> dict[Spec, str]:
    """What each metric is called in the texts, where a name means one metric and is not its canonical one."""
    pairs = ((name, specs) for name, specs in named_specs(text) if len(specs) == 1)
    return {specs[0]: name for name, specs in pairs if name != str(specs[0])}


def named_specs(text: Metrics) -> list[tuple[str, list[Spec]]]:
    """Each single name in one or several texts, at least one, with its Specs. Raises MetricError."""
    specs = [(name, parse_one(name)) for name in single_names(text)]
    if not specs:
        raise MetricError("no metrics given", hint="for example nDCG@10")
    return specs


def single_names(text: Metrics) -> list[str]:
    """The single names in one or several texts, and those of measures of ir_measures. Raises MetricError."""
    texts: list[Any] = [text]
    if isinstance(text, Iterable) and not isinstance(text, (str, bytes, Mapping)):
        with suppress(Exception):  # of an iterator, or an object that only looks like one
            texts = list(text)
    names = []
    for item in texts:
        is_theirs = type(item).__module__.startswith("ir_measures.")
        name = (dialects.translated(str(item)) or [None])[0] if is_theirs else item
        if not isinstance(name, str):
            raise MetricError(f"{described(item)} is not the name of a metric", hint="for example 'nDCG@10'")
        names += split(name)
    return names


def usable(
    metrics: Metrics, is_usable: Callable[[Spec], bool], refused: Callable[[Spec], MetricError]
) -> tuple[list[Spec], list[str]]:
    """The metrics that can be used, and the names left out of groups; refused(spec) is raised for others."""
    chosen, left_out = [], []
    for name, specs in named_specs(metrics):
        for spec in specs:
            if is_usable(spec):
                chosen.append(spec)
            elif group_of(name) is None:
                raise refused(spec)
            else:
                left_out.append(str(spec))
    return list(dict.fromkeys(chosen)), list(dict.fromkeys(left_out))


def parse_one(text: str) -> list[Spec]:
    """The Specs of one name; several if it lists cutoffs, or names a group."""
    if group := group_of(text):
        return [spec for name in group.measures for spec in parse_measure(name)]
    if specs := _dotted_or_plugin(text):
        return specs
    name, items, cutoffs = _parts(text)
    if fold(name) == "recall" and cutoffs is None and not {"k", "cutoff"} & {key for key, _ in items}:
        name = "set_recall"  # of the whole run, as in ranx; trec_eval's nine cutoffs are recall.5,10,…
    metric = _named(name, text)
    if name != metric.name and fold(name) in dialects.AMBIGUOUS:  # as other tools write it
        raise _ambiguous(name, metric, cutoffs, text)
    params = _params(metric, items, text)
    if cutoffs is not None:
        return _at_cutoffs(metric, params, cutoffs, text)
    measure = dialects.measure_of(name)
    if measure is None or not measure.values or measure.param in params:
        return [_spec(metric, params, text)]
    return _for_each(metric.by_name[measure.param], measure.values, metric, params, text)


def _ambiguous(name: str, metric: Metric, cutoffs: str | None, text: str) -> MetricError:
    """The error of a name that is another metric's in another tool."""
    tool, other = dialects.AMBIGUOUS[fold(name)]
    suffix = text[len(name) :].replace("_at_", "@")
    with_cutoff = suffix if cutoffs else suffix + "@10"
    hint = f"did you mean {other}{with_cutoff} or {metric.name}{suffix}?"
    return MetricError(f"{text}: in {tool} this name means {other}", hint=hint)


def _params(metric: Metric, items: Iterable[tuple[str, str | None]], text: str) -> dict[str, Any]:
    """The values of 'name=value' items by parameter. Raises MetricError."""
    params: dict[str, Any] = {}
    for key, value_text in items:
        if value_text is None:
            raise MetricError(f"{text}: '{key}' is not of the form name=value", hint=_accepted(metric))
        param, value = _param(metric, key, value_text, text)
        if params.get(param.name, param.default) != param.default:
            raise MetricError(f"{text}: {param.name} is given more than once")
        params[param.name] = _value(param, value, text)
    return params


def _at_cutoffs(metric: Metric, params: Mapping[str, Any], cutoffs: str, text: str) -> list[Spec]:
    """A Spec for each of the values behind '@'. Raises MetricError."""
    if metric.at is None:
        raise MetricError(f"{text}: {metric.name} takes no cutoff", hint=_accepted(metric))
    if metric.at.name in params:
        raise MetricError(f"{text}: the {metric.at.name} is given more than once")
    return _for_each(metric.at, cutoffs, metric, params, text)


def _for_each(param: Param, values: str, metric: Metric, params: Mapping[str, Any], text: str) -> list[Spec]:
    """A Spec for each of the values of a parameter, separated by commas. Raises MetricError."""
    parsed = [_value(param, item, text) for item in values.split(",")]
    return [_spec(metric, {**params, param.name: value}, text) for value in parsed]


def parse_measure(name: str) -> list[Spec]:
    """The Specs of one of trec_eval's measures with all its default cutoffs, or of another name."""
    measure = dialects.measure_of(name)
    return parse_one(f"{name}.{measure.values}" if measure and measure.values else name)


def group_of(text: str) -> dialects.Group | None:
    """The group of this name, None for other texts."""
    _check_declared()
    is_other = "(" in text or "@" in text or _find(fold(text)) is not None
    return None if is_other else dialects.GROUPS.get(fold(text))


def metric_of(text: str) -> Metric:
    """The metric of a name, even if required parameters are missing. Raises MetricError."""
    specs = _dotted_or_plugin(text)
    return specs[0].metric if specs else _named(_parts(text)[0], text)


def is_metric(text: str) -> bool:
    """Whether it names metrics."""
    try:
        return bool(parse(text))
    except MetricError:
        return False


def metric_suggested(text: str, *, is_likely: bool) -> str:
    """What an error suggests for a word without a path or an ending, such as nDCG@10 for ndgc@10, or ''.
    is_likely: whether it may also be a short name with a slip, such as APP.
    """
    if is_likely and len(text) <= _SHORT:
        return next((name for name in REGISTRY if slips(fold(name), fold(text)) == 1), "")
    if re.fullmatch(r"[^\W\d_]\w*(\([\w=,]*\))?(@\d+(,\d+)*)?", text):
        try:
            parse(text)
        except MetricError as error:
            suggested = re.fullmatch(r"did you mean (\S+)\?", error.hint)
            return suggested[1] if suggested else ""
    return ""


def metric_meant(text: str) -> Metric | None:
    """The metric that a text names, also in a notation that only gets a suggestion; None for other texts."""
    for name in (text, *_meant(text)):
        with suppress(MetricError):
            return metric_of(name)
    return None


def _parts(text: str) -> tuple[str, list[tuple[str, str | None]], str | None]:
    """Name, parameters and cutoffs in our notation: nDCG(gain=exp)@10; None for '@' or '=' that is missing."""
    parts = re.fullmatch(r"([^()@]+)(?:\(([^()]*)\))?(?:@([^()]*))?", text)
    if parts is None:
        hint = "for example nDCG(gain=exp)@10"
        raise MetricError(f"{text}: it is not of the form NAME(name=value,…)@k", hint=hint)
    name, inside, cutoffs = parts.groups()
    # of a=1,b={0:0,1:5},c="x,y": commas in quotes and braces do not separate
    quoted_or_comma = r"""\{[^}]*\}?|'[^']*'?|"[^"]*"?|,"""
    pairs: list[tuple[str, str, str]] = []
    if inside and inside.strip():
        marked = re.sub(quoted_or_comma, lambda match: "\0" if match[0] == "," else match[0], inside)
        pairs = [item.partition("=") for item in marked.split("\0")]
    items = [(key.strip(), _unquoted(value.strip()) if equals else None) for key, equals, value in pairs]
    in_words = re.fullmatch(_AT_IN_WORDS, name) if cutoffs is None and _find(fold(name)) is None else None
    if in_words:
        name, cutoffs = in_words.groups()
    if _find(fold(name)) is None:
        name, items = dialects.resolve(name, items, cutoffs is not None)
    return name, items, cutoffs


def _unquoted(value: str) -> str:
    """A value in Python's notation, in ours: without quotes, {0:0,1:5} as 0:0/1:5."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    if value.startswith("{") and value.endswith("}"):
        return "".join(value[1:-1].split()).replace(",", "/")
    return value


def _dotted_or_plugin(text: str) -> list[Spec] | None:
    """dotted(text), or None if that is an error and the text is the name of a plugin's metric."""
    _check_declared()
    try:
        return dotted(text)
    except MetricError:
        load_plugins()
        if _find(fold(text)) is not None:
            return None
        _suggest(text)
        raise


def _suggest(text: str) -> None:
    """Raise MetricError if the text stands for a metric in a notation that is not parsed."""
    for name in filter(None, map(_parseable, _meant(text))):
        raise MetricError(text, hint=f"did you mean {name}?")


def _parseable(text: str) -> str:
    """The text of a known name if it parses; of a name alone, else, the usage; '' otherwise."""
    with suppress(MetricError):
        parse_one(text)
        return text
    with suppress(MetricError):  # of a plugin
        return "" if "(" in text or "@" in text else metric_of(text).usage
    return ""


def dotted(text: str) -> list[Spec] | None:
    """The Specs of trec_eval's notation, such as ndcg_cut.5,10, ndcg_cut_10, P.5; None for other texts. Only of
    metrics whose names were looked up before, as group_of() does.
    """
    splits = [] if "(" in text or "@" in text else [text.partition("."), text.rpartition("_")]
    for name, separator, values in splits:
        metric = _find(fold(name)) if separator else None
        is_name = separator == "_" and (_find(fold(text)) or dialects.named(text))  # ours or of another tool
        if metric is None or is_name:
            continue
        measure = dialects.measure_of(name)
        if (
            measure is not None
            and measure.param
            and (specs := _read_measure(measure, metric, values, separator, text))
        ):
            return specs
        raise _wrong_value(name, metric, values, separator, text)
    return None


def _read_measure(
    measure: dialects.TrecMeasure, metric: Metric, values: str, separator: str, text: str
) -> list[Spec]:
    """The Specs of the values of one of trec_eval's measures, none where they are of another form."""
    specs = []
    for texts in measure.read(values, separator):
        params = {key: _value(metric.by_name[key], value, text, True) for key, value in texts.items()}
        specs.append(_spec(metric, params, text))
    tool = dialects.RANX if measure.is_by_decimals(values, separator) else ""
    return [spec.replace(unscaled_in=tool) for spec in specs]


def _wrong_value(name: str, metric: Metric, values: str, separator: str, text: str) -> MetricError:
    """The error of a value that a name in trec_eval's notation does not take."""
    stem = re.sub(r"[._][\d.,]+$", "", text)
    near = nearest(fold(stem), map(fold, dialects.MEASURES)) if separator == "_" else None
    if near not in (None, fold(name)):
        return MetricError(text, hint=f"did you mean {near}{text[len(stem) :]}?")
    measure = dialects.measure_of(name)
    form, hint = "no value", ""
    if measure is not None and measure.param:
        gains = [] if measure.param in measure.named else ["grade=gain pairs"]
        form = " and ".join([*(f"{key}=" for key in measure.named), *gains])
        hint = f"{name}.{measure.example}"
    if "cutoff" in metric.by_name and values.replace(",", "").isdigit():  # in the notation of the name
        names = dialects.names_of(metric.name)
        with_cutoff = [f"{other}." for other in names if dialects.MEASURES[other].param == "cutoff"]
        hint = f"did you mean {with_cutoff[0] if with_cutoff and name in names else name + '@'}{values}?"
    return MetricError(f"{text}: {name} takes {form} after '{separator}'", hint=hint)


def _spec(metric: Metric, params: Mapping[str, Any], text: str) -> Spec:
    """A spec without parameters at their defaults, in the metric's order."""
    values = {}
    for param in metric.params:
        if params.get(param.name, param.default) != param.default:
            values[param.name] = params[param.name]
        elif param.required:
            required = "a cutoff" if param.name == "cutoff" else param.name
            raise MetricError(f"{text}: {metric.name} requires {required}", hint=f"for example {metric.usage}")
    if metric.check is not None:
        try:
            metric.check(values)
        except (ValueError, MetricError) as error:
            raise MetricError(f"{text}: {error}") from None
    return Spec(metric, tuple(values.items()))


def _value(param: Param, value: str, text: str, is_dotted: bool = False) -> Any:
    """is_dotted: whether it has trec_eval's separators, which messages use too."""
    value = value.strip()
    try:
        return param.parse(value.translate(dialects.TO_OURS) if is_dotted else value)
    except ValueError as error:
        form = str(error).translate(dialects.TO_THEIRS) if is_dotted else str(error)
        raise MetricError(f"{text}: {param.name} must be {form}, not '{value}'") from None
    except MetricError as error:  # of a plugin
        raise MetricError(f"{text}: {error}") from None


def _param(metric: Metric, key: str, value: str, text: str) -> tuple[Param, str]:
    """The parameter of a key in our notation or another tool's, and its value in ours."""
    name = key.lower()
    for param in metric.params:
        if name in (param.name.lower(), *param.aliases):
            return param, value
    for spelling in dialects.spellings(metric.name):
        if spelling.name == name and spelling.param in metric.by_name:
            words = spelling.words or {value.lower(): value}
            if value.lower() not in words:
                raise MetricError(f"{text}: {key} must be {' or '.join(words)}, not '{value}'")
            return metric.by_name[spelling.param], words[value.lower()]
    raise MetricError(f"{text}: {metric.name} has no parameter '{key}'", hint=_accepted(metric))


def _accepted(metric: Metric) -> str:
    return f"{metric.name} takes " + ", ".join(f"{p.name} ({p.allowed})" for p in metric.params)


def _find(name: str) -> Metric | None:
    """The metric of a folded name, None if there is none; its family is imported only then."""
    if name not in _METRICS:
        if (module := home_of(name)) is not None:
            for metric in import_family(module):
                _METRICS.update(dict.fromkeys(map(fold, (metric.name, *metric.aliases)), metric))
        elif (measure := dialects.measure_of(name)) is not None:
            return _find(fold(measure.metric))
    return _METRICS.get(name)


def _all_names() -> list[str]:
    """Every name, folded; those of plugins after load_plugins()."""
    load()
    return list(dict.fromkeys([*map(fold, dialects.MEASURES), *by_name(), *_METRICS]))


def _check_declared() -> None:
    """Raise MetricError, once, for a metric that the program declares itself and that is ignored."""
    if UNCHECKED and (failed := _register()):
        raise MetricError("; ".join(failed))


def _register() -> list[str]:
    """Register what other packages or the program declared since; a line for each metric ignored."""
    from gradeval.registry.plugins import admitted  # a start without them does not pay for it

    def use(name: str) -> str:
        """The present use of a name, '' if it is free."""
        if (metric := _find(fold(name))) is not None:
            return metric.name
        if fold(name) in dialects.GROUPS:
            return f"the group {fold(name)}"
        for alias in dialects.named(name):
            return alias.target
        with suppress(MetricError):
            return str(*(dotted(name) or [])[:1])  # P_10
        return ""

    failed: list[str] = []
    with _REGISTERING:
        while UNCHECKED:
            try:
                metric = admitted(UNCHECKED[0], use)
                REGISTRY[metric.name] = metric
                _METRICS.update(dict.fromkeys(map(fold, (metric.name, *metric.aliases)), metric))
            except MetricError as error:
                failed.append(str(error))
            del UNCHECKED[0]
    return failed


@cache
def load_plugins() -> tuple[str, ...]:
    """Register the metrics that other packages offer; a line for each plugin or metric that is ignored. It
    takes longer than importing all of ours, so it is done only for a name that is not ours, or to list all.
    """
    from gradeval.registry.plugins import load_all

    load()
    _check_declared()
    return tuple(load_all(_register))


def _named(name: str, text: str) -> Metric:
    if (metric := _find(fold(name))) is not None:
        return metric
    broken = load_plugins()  # one of them may be the metric's home
    if (metric := _find(fold(name))) is not None:
        return metric
    if instead := dialects.ABSENT.get(_plain(name)):
        raise MetricError(f"{text}: unknown metric", hint=instead)
    _suggest(text)
    stem = re.sub(r"[._][\d.,]+$", "", name)
    theirs = (alias.name.lower() for alias in dialects.aliases())
    near = nearest(fold(stem), [*_all_names(), *dialects.GROUPS, *theirs])
    spelled = next((metric_name for metric_name in REGISTRY if fold(metric_name) == near), near or "")
    meant = spelled if spelled in dialects.GROUPS else text.replace(stem, spelled, 1)
    if meant == text:  # the name is right, what follows it is not
        raise MetricError(f"{text}: the cutoff is given more than once", hint=f"for example {spelled}@5")
    ignored = f" ({broken[0]})" if broken else ""
    if near and (suggested := _parseable(meant)):
        raise MetricError(text, hint=f"did you mean {suggested}?{ignored}")
    raise MetricError(f"{text}: unknown metric", hint=f"'gradeval metrics' lists the metrics{ignored}")


def split(text: str) -> list[str]:
    """'AP nDCG@5,10, P(rel=2)@5' -> the single names, separated by spaces, or by commas before a letter."""
    if "," not in text and "(" not in text:
        return text.split()
    names = re.findall(r"(?:\([^()]*\)?|,(?!\s|[^\W\d_])|[^\s,(])+", text)
    return [name.rstrip(",") for name in names if name.strip(",")]


def _meant(text: str) -> Iterator[str]:
    """Names that a text may stand for, perhaps wrong ones: 'nDCG_exp' -> 'nDCG(gain=exp)'."""
    end = min((text + "(").index("("), (text + "@").index("@"))
    name = text[:end]
    suffix = text[end:]
    if "@" not in suffix and (in_words := re.fullmatch(_AT_IN_WORDS, name)):
        name = in_words[1]
        suffix = f"{suffix}@{in_words[2]}"
    if metric_name := _known(name, "@" in suffix):
        yield metric_name + suffix
    if "@" not in suffix and (ending := re.fullmatch(_AT_THE_END, name)):
        stem, separator, cutoffs = ending.groups()
        yield from _with_cutoff_at_the_end(stem, separator, cutoffs, suffix)
    for separator in re.finditer("[-_.:]", name):
        metric = _find(name[: separator.start()].lower())
        if metric and (texts := _written_value(metric, name[separator.end() :])):
            written = metric.written(metric.name, texts)
            yield f"{written[:-1]},{suffix[1:]}" if suffix.startswith("(") else written + suffix


def _with_cutoff_at_the_end(stem: str, separator: str, cutoffs: str, suffix: str) -> Iterator[str]:
    """'ndcg10' -> 'nDCG@10'; nothing where the text is a name, or trec_eval's notation."""
    is_dotted = separator in (".", "_") and _find(stem.lower()) is not None  # trec_eval's notation
    metric_name = _known(stem, True)
    if metric_name is None or is_dotted:
        return
    # NERR8, F1 and rbp.95 are names, or begin so
    numbered = re.compile(re.escape(_plain(stem)) + r"\.?\d+")
    names = (*_all_names(), *(alias.name for alias in dialects.aliases()))
    if not any(numbered.fullmatch(_plain(name)) for name in names):
        yield f"{metric_name}{suffix}@{cutoffs}"


def _known(name: str, has_cutoff: bool) -> str | None:
    """A known name that differs in hyphens and underscores only, in our notation."""
    word = _plain(name)
    if word in _WORDS:
        return _WORDS[word]
    for key in _all_names():
        if _plain(key) == word and (metric := _find(key)) is not None:
            return metric.name if has_cutoff or key == metric.name.lower() else key
    fitting = [alias for alias in dialects.aliases() if _plain(alias.name) == word and not alias.param]
    return min(fitting, key=lambda alias: bool(alias.cutoff) != has_cutoff).target if fitting else None


def _plain(name: str) -> str:
    return re.sub(r"(?<=\w)[-_](?=\w)", "", name.lower())


def _written_value(metric: Metric, text: str) -> dict[str, str]:
    """The parameter and the value of 'exp', 'l2' or 'p=0.8'; {} if it is none of the metric."""
    for param in metric.params:
        if param.after_at:
            continue
        keys = (param.name, *param.aliases, *_KEYS.get(param.name, ()))
        values = [text[len(key) :].lstrip("=:_-") for key in keys if text.lower().startswith(key.lower())]
        if not text.replace(".", "").isdigit():
            values.insert(0, text)
        for value in values:
            with suppress(ValueError):
                return {param.name: param.text(param.parse(value))}
    return {}


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The known word at the smallest edit distance; None if that is too large for a typo. In a short word only
    transposed letters are a typo. Digits are no typo of others.
    """
    most = min(len(word) // 3, 2)
    near = [
        (slips(word, name), name)
        for name in candidates
        if abs(len(name) - len(word)) <= most
        and re.findall(r"\d", name) == re.findall(r"\d", word)
        and (len(word) > _SHORT or sorted(name) == sorted(word))
    ]
    fewest, best = min(near, key=lambda pair: pair[0], default=(most + 1, None))
    return best if fewest <= most else None


@cache
def slips(a: str, b: str) -> int:
    """The edit distance: insertions, deletions, substitutions and transpositions of adjacent letters."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return slips(a[:-1], b[:-1])
    fewest = min(slips(a[:-1], b), slips(a, b[:-1]), slips(a[:-1], b[:-1]))
    return 1 + (min(fewest, slips(a[:-2], b[:-2])) if a[-2:] == b[:-3:-1] else fewest)
