"""Attack: text fields as scores, grades, labels, features and group sizes, against Python's float()."""

import random
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from plain import number_of, read_trec_qrels

from gradeval.arrays.strings import PAD, Ids
from gradeval.formats.letor import read_letor, read_numbers
from gradeval.formats.scan import floats
from gradeval.formats.sources import Source
from gradeval.formats.trec import run_columns

from . import data, slow
from .attack import Wrong
from .call import blocks_of, gradeval, require

UNIT = "numbers"

AT_ONCE = 3000  # numbers of a case
GRADES = ("grade", "label", "-l", "--zero-grade")  # which have a range
EXACT = Context(prec=1200, Emin=-99999, Emax=99999)

Draw = Callable[[random.Random], str]


def _double(rng: random.Random) -> float:
    """Any finite double, each pattern of bits as likely as any other."""
    while True:
        (number,) = struct.unpack("<d", rng.randbytes(8))
        if number - number == 0:
            return number


def _digits(rng: random.Random, most: int = 25) -> str:
    size = rng.randint(1, most) if rng.random() < 0.98 else rng.randint(1, 800)
    return str(rng.randrange(10**size)).zfill(size if rng.random() < 0.7 else 1)


def _sign(rng: random.Random) -> str:
    return rng.choice(["", "", "", "-", "+"])


def _pointed(rng: random.Random) -> str:
    digits = _digits(rng)
    at = rng.randint(0, len(digits))
    return f"{_sign(rng)}{digits[:at]}.{digits[at:]}"


def score(rng: random.Random) -> str:
    """As most scores are: 1 to 20 digits, perhaps with a point and a minus sign, in all lengths."""
    digits = str(rng.randrange(10**20)).zfill(20)[: rng.randint(1, 20)]
    at = rng.randint(0, len(digits))
    return rng.choice(["", "-"]) + digits[:at] + rng.choice([".", ".", ""]) + digits[at:]


def scores_with(decimals: int, most: int) -> Draw:
    """As most runs have them: all with so many digits behind the point, and at most so many before it."""

    def draw(rng: random.Random) -> str:
        whole = f"{rng.randrange(10 ** rng.randint(1, most)):0{rng.randint(1, most)}}"
        return f"{rng.choice(['', '-'])}{whole}.{rng.randrange(10**decimals):0{decimals}}"

    return draw


def _exponent(rng: random.Random) -> str:
    size = rng.choice([5, 25, 330, 400])
    return f"{rng.choice(['e', 'E'])}{_sign(rng)}{'0' * rng.choice([0, 0, 0, 3])}{rng.randrange(size)}"


def _halfway(rng: random.Random) -> str:
    """The exact decimal between two neighbouring doubles, or a hair beside it."""
    number = abs(_double(rng)) if rng.random() < 0.3 else rng.uniform(0, 10.0 ** rng.randint(-6, 17))
    next_up = Decimal(float(np.nextafter(number, np.inf))) if number < 1.7e308 else Decimal(number)
    middle = EXACT.divide(EXACT.add(Decimal(number), next_up), Decimal(2))
    hair = Decimal((0, (1,), middle.adjusted() - rng.choice([17, 18, 19, 20, 25, 40, 700])))
    exact = EXACT.add(middle, EXACT.multiply(hair, Decimal(rng.choice([-1, 0, 1]))))
    text = f"{exact:f}" if -40 < exact.adjusted() < 40 and rng.random() < 0.7 else str(exact)
    return _sign(rng) + text


def _near_halfway(rng: random.Random) -> str:
    """m / 10^d as near to halfway between two doubles as m, of 16 to 19 digits, can be."""
    decimals = rng.randrange(0, 23)
    power = 5**decimals
    mantissa = rng.randrange(2**53, 2**63)
    j = (2**54 * power // mantissa).bit_length() - 1
    if j > 0 and decimals:
        beside = rng.choice([-1, 1]) * pow(pow(2, j, power), -1, power)
        mantissa = mantissa - mantissa % power + beside % power
    digits = str(mantissa + rng.choice([0, 0, -1, 1])).zfill(decimals + 1)
    return f"{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}"


def _odd_integer(rng: random.Random) -> str:
    """Around 2^53 to 2^64, where an integer stops to be a double."""
    number = 2 ** rng.randint(50, 66) + rng.randint(-50, 50)
    text = str(number)
    at = rng.randint(0, len(text)) if rng.random() < 0.7 else len(text)
    return text[:at] + rng.choice([".", ""]) * (at < len(text)) + text[at:]


def _denormal(rng: random.Random) -> str:
    number = rng.randrange(1, 2 ** rng.randint(1, 54)) * 5e-324
    kind = rng.randrange(4)
    if kind == 0:
        return repr(number)
    if kind == 1:
        return f"{number:.{rng.randint(0, 30)}e}"
    if kind == 2:
        return f"{_digits(rng)}e-{rng.randint(300, 345)}"
    return f"0.{'0' * rng.randint(290, 330)}{_digits(rng)}"


SOUND: tuple[Draw, ...] = (
    lambda rng: _sign(rng) + _digits(rng),
    lambda rng: _sign(rng) + _digits(rng, 9),
    score,
    score,
    _pointed,
    _pointed,
    _pointed,
    lambda rng: _pointed(rng) + _exponent(rng),
    lambda rng: _sign(rng) + _digits(rng) + _exponent(rng),
    lambda rng: repr(_double(rng)),
    lambda rng: f"{_double(rng):.{rng.randint(0, 25)}e}",
    lambda rng: f"{rng.uniform(-1e6, 1e6):.{rng.randint(0, 22)}f}",
    lambda rng: repr(rng.uniform(0, 1)),
    lambda rng: str(np.float32(rng.gauss(0, 100))),
    _halfway,
    _near_halfway,
    _near_halfway,
    _odd_integer,
    _denormal,
)
_WRONG = """
    nan NaN -nan inf -Infinity infinity 1_0 1__0 _1 1_ 0x1 0x1p3 1e400 -1e999 + - . -. +. e5 .e5 1e 1e+ 1.2.3
    1..2 --1 +-1 1- 1,5 1f 1.5x 12345678x 1.12345678x x.5 0b1 1j / : 1.: 1./ ١ ١٢ 1٣ ５ ² ½ １.５ 1e٣
    1d5 1e5e5 1e5.5 true None 1/2 12345678/ 12345678: 1234567: 123456789012345678: 0.12345678: 1.e 0o7
    1e99999999999999999999 NAN(1) 1.#INF −1 –1 1,000 1'000 $1 1% (1) 1e+-5 1e--5 .1. ..1 1.. .. +.e1
"""
WRONG = [*_WRONG.split(), "1\u00a0", "\u20031", "1e-99999999999999"]
TAILS = b"9.#\n \0e7:/-+\xff_"  # what may stand behind the last field of a block


def _wrong(rng: random.Random) -> bytes:
    """Hardly ever a number: words, sound ones with a byte changed, and any bytes."""
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(WRONG).encode()
    if kind < 0.8:
        text = bytearray(rng.choice(SOUND)(rng)[:40].encode())
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.randrange(2)] = bytes(
            [rng.choice([*b"0123456789.eE+-_xX:/,", rng.randrange(33, 256)])]
        )
        return bytes(text)
    return data.any_id(rng, 12)


@dataclass(frozen=True)
class Case:
    """role: what the texts are read as. gaps: what stands before each in a block. tail: what stands behind."""

    role: str
    texts: list[bytes]
    gaps: list[bytes]
    tail: bytes
    block: int | None
    jobs: int


class Role(NamedTuple):
    """line: the line of a file with the n-th number. args: of the command that reads the file 'many'. read: the
    numbers of a file.
    """

    line: Callable[[int, bytes], bytes]
    args: list[str]
    read: Callable[[Source, int], np.ndarray]


_LETOR_ARGS = ["many", "--feature=3", "--qrels-format=letor"]
ROLES = {
    "score": Role(
        lambda n, text: b"q Q0 d%d 1 %s t" % (n, text),
        ["q", "many", "--run-format=trec"],
        lambda source, jobs: np.concatenate([run_columns(block).value for block in source.blocks()]),
    ),
    "grade": Role(
        lambda n, text: b"q 0 d%d %s" % (n, text),
        ["many", "q", "--qrels-format=trec"],
        lambda source, jobs: read_trec_qrels(source, jobs).grade,
    ),
    "label": Role(
        lambda n, text: b"%s qid:q 1:1 # d%d" % (text, n),
        _LETOR_ARGS,
        lambda source, jobs: read_letor(source, {3}, None, jobs).label,
    ),
    "feature": Role(
        lambda n, text: b"1 qid:q 1:1 3:%s # d%d" % (text, n),
        _LETOR_ARGS,
        lambda source, jobs: read_letor(source, {3}, None, jobs).feature(3),
    ),
    "group size": Role(
        lambda n, text: text,
        ["plain", "--feature=1", "--groups=many"],
        lambda source, jobs: read_numbers(source, "group size")[0],
    ),
}
CALLS: dict[str, Callable[[str], list[str]]] = {  # one number each
    "-l": lambda text: ["q", "r", f"-l{text}"],
    "--zero-grade": lambda text: ["q", "r", f"--zero-grade={text}"],
    "z-score": lambda text: ["trec_eval", "-mmap", "-Z", "z", "q", "r"],
}


def make(rng: random.Random) -> tuple[Case]:
    role = "scanner" if rng.random() < 0.6 else rng.choice([*ROLES, *ROLES, *CALLS])
    alike = rng.random()
    kinds: Sequence[Draw] = rng.sample(SOUND, rng.randint(1, 6))
    if alike < 0.3:
        kinds = [score] if alike < 0.15 else [scores_with(rng.randint(1, 9), rng.randint(1, 6))]
    count = AT_ONCE if role == "scanner" else 40 if role in CALLS else AT_ONCE // 4
    texts = [rng.choice(kinds)(rng).encode() for _ in range(count)]
    if role == "group size":
        texts = [rng.choice([text, *[b"%d" % rng.randrange(10**6)] * 3]) for text in texts]
    chances = {"scanner": 0.15, **dict.fromkeys(CALLS, 0.5)}
    chance = chances.get(role) or rng.choice([0.0, 2 / len(texts), 8 / len(texts)])
    texts = [_wrong(rng) if rng.random() < chance else text for text in texts]
    # no comments, and nothing before the first that could be a byte order mark; of a run, a query is before it
    first = kinds[0](rng).encode() if role == "score" else b"0"
    texts = [first, *(text.replace(b"#", b"!") for text in texts)]
    gaps = [rng.choice([b" ", b"\t", b"x" * rng.randrange(12) + b" ", b"\n"]) for _ in texts]
    block = rng.choice([None, rng.randrange(1, 3000)])
    return (Case(role, texts, gaps, bytes(rng.choices(TAILS, k=PAD)), block, rng.choice([1, 1, 2])),)


def check(case: Case) -> int:
    expected = []  # the numbers that are to be read, None where they are to be refused
    for number in map(number_of, case.texts):
        out_of_range = number is not None and case.role in GRADES and not slow.is_grade(number)
        no_size = number is not None and case.role == "group size" and (number < 0 or number != int(number))
        no_level = number is not None and case.role == "-l" and number < 0
        expected.append(None if out_of_range or no_size or no_level else number)
    sound = [row for row, number in enumerate(expected) if number is not None]
    wrong = [row for row, number in enumerate(expected) if number is None]
    if case.role in CALLS:
        _check_calls(case, expected)
    elif case.role == "scanner":
        block = b"".join(gap + text for gap, text in zip(case.gaps, case.texts, strict=True))
        length = np.array([*map(len, case.texts)], np.int64)
        ends = np.cumsum(length + np.array([*map(len, case.gaps)], np.int64))
        values, bad = floats(Ids(np.frombuffer(block + b"\n" + case.tail, np.uint8), ends - length, length))
        if bad.tolist() != wrong:
            row = min({*bad.tolist()} ^ {*wrong})
            what = f"a number is taken or refused, where float() says {expected[row]}"
            raise Wrong(f"{what}\n{case.texts[row]!r}")
        _check_values(case, sound, values[sound], expected)
    else:
        with blocks_of(case.block):
            if wrong:
                _write(case, range(len(case.texts)), "many")
                # what is out of range is looked for where all are numbers
                no_numbers = [row for row in wrong if number_of(case.texts[row]) is None]
                _check_errors(case, no_numbers if case.role in GRADES and no_numbers else wrong)
            _write(case, sound, "sound")
            _check_values(case, sound, ROLES[case.role].read(Source("sound"), case.jobs), expected)
    return len(case.texts)


def _check_values(case: Case, rows: Sequence[int], values: np.ndarray, expected: Sequence[Any]) -> None:
    """rows: of the texts that the values are of; each is the same to the last bit."""
    if len(values) != len(rows):
        raise Wrong(f"{len(values)} values where there are {len(rows)} numbers, as {case.role}")
    numbers = np.array([expected[row] for row in rows], np.float64)
    for i in np.flatnonzero(values.view(np.uint64) != numbers.view(np.uint64)).tolist():
        where = f"{case.texts[rows[i]]!r} as {case.role}, row {rows[i]}"
        what = f"{float(values[i]).hex()} where it should be {numbers[i].hex()}"
        raise Wrong(f"a number is not what float() says\n{where}: {what}")


def _write(case: Case, rows: Iterable[int], name: str) -> None:
    line = ROLES[case.role].line
    Path(name).write_bytes(b"".join(line(n, case.texts[row]) + b"\n" for n, row in enumerate(rows)))


def _check_errors(case: Case, wrong: Sequence[int]) -> None:
    """The command names the lines of the wrong ones, and no others."""
    Path("q").write_bytes(b"q 0 d0 1\n")
    count = 1 + Path("many").read_bytes().count(b"\n")  # as many as there can be numbers
    Path("l").write_bytes(b"1 qid:q 1:1\n" * count)
    Path("plain").write_bytes(b"1 1:1\n" * count)
    args = [*ROLES[case.role].args, "--quiet", f"-j{case.jobs}"]
    done = gradeval(*args)
    require(done.code == 2 and not done.out, "wrong numbers are taken", args, done)
    named = [line.split(":", 2) for line in done.lines if line.startswith("many:")]
    lines = [int(line[1]) - 1 for line in named if line[1].isdigit() and "reading stopped" not in line[2]]
    # the first line stands for all where all are wrong
    shown = 1 if re.search(", and none of the [0-9,]+ lines", done.err) else 20
    is_right = lines == list(wrong)[: len(lines)] and len(lines) == min(shown, len(wrong))
    require(is_right, f"lines {lines} are refused where it should be {wrong}", args, done)


def _check_calls(case: Case, expected: Sequence[float | None]) -> None:
    Path("q").write_bytes(b"q 0 d 1\n")
    Path("r").write_bytes(b"q Q0 d 1 1 t\n")
    for text, number in zip(case.texts, expected, strict=True):
        word = text.decode("utf-8", "surrogateescape")
        Path("z").write_bytes(b"q map " + text + b" 1\n")
        args = CALLS[case.role](word)
        done = gradeval(*args)
        what = f"as {case.role} a number is {'refused' if done.code else 'taken'}"
        require((done.code == 0) == (number is not None), what, args, done)
