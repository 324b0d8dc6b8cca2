from __future__ import annotations

from helpers import each

from gradeval.render.document import Cell, Grid, RenderOptions
from gradeval.render.markup import write_latex


def test_summary(make) -> None:
    results = make("num_q muAP nDCGphi@10", {"bm25_k1": [[1], [0.5], [-0.5]], "x": [[1], [0.25], [-0.25]]})
    assert results.render("latex") == (
        r"""\begin{tabular}{lrrr}
\toprule
run & num\_q & $\mu$AP & nDCG$\varphi$@10 \\
\midrule
bm25\_k1 & 1 & \textbf{0.5000} & $-$0.5000 \\
x & 1 & 0.2500 & \textbf{$-$0.2500} \\
\bottomrule
\end{tabular}
"""
    )


def test_queries(make) -> None:
    text = make("AP P@5", {"100%": [[0.5], [1]]}).render("latex", per_query=True, summary=False)
    assert text == (
        r"""\begin{tabular}{lrr}
\toprule
\multicolumn{3}{l}{100\%} \\
\midrule
query & AP & P@5 \\
\midrule
q1 & 0.5000 & 1.0000 \\
\bottomrule
\end{tabular}
"""
    )


@each(
    "name, escaped",
    [
        ("a&b", r"a\&b"),
        ("{$#_%}", r"\{\$\#\_\%\}"),
        ("\\", r"\textbackslash{}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("<|>", r"\textless{}\textbar{}\textgreater{}"),
        ("[x]*", "{[}x]{*}"),
        ("τρ", r"$\tau$$\rho$"),
        ("a\x1b\u2029", r"a\textbackslash{}x1b\textbackslash{}u2029"),
    ],
)
def test_special_characters(name: str, escaped: str, make) -> None:
    assert make("AP", {name: [[0.5]]}).render("latex").splitlines()[4] == rf"{escaped} & 0.5000 \\"


def test_words_are_escaped_and_are_no_numbers() -> None:
    row = [Cell("t_1%&|"), Cell("-.1"), Cell("-->1"), Cell("-0.5", bold=True)]
    text = write_latex([Grid("", ("a", "b", "c", "d"), [row], labels=0)], RenderOptions())
    assert text.splitlines()[4] == (r"t\_1\%\&\textbar{} & {-}.1 & {-}{-}\textgreater{}1 & \textbf{$-$0.5} \\")
