"""Markdown and LaTeX: what is special in them. Whole outputs are in golden/."""

from gradeval.render.document import Cell, Grid, RenderOptions
from gradeval.render.markup import escape_latex, escape_md, write_latex

ODD = "a\x1b[b\u2066"


def test_special_characters(make) -> None:
    for name, md, latex in (
        ("a|b", r"a\|b", r"a\textbar{}b"),
        (r"a\|b", r"a\\\|b", r"a\textbackslash{}\textbar{}b"),
        ("<b>", r"\<b\>", r"\textless{}b\textgreater{}"),
        ("`x`", r"\`x\`", "`x`"),
        ("[a](b)*", r"\[a\](b)\*", "{[}a](b){*}"),
        ("~~a~~", r"\~\~a\~\~", r"\textasciitilde{}\textasciitilde{}a\textasciitilde{}\textasciitilde{}"),
        ("_a_", r"\_a\_", r"\_a\_"),
        ("a_b_c", "a_b_c", r"a\_b\_c"),
        ("a__b", r"a\_\_b", r"a\_\_b"),
        ("&amp;", r"\&amp;", r"\&amp;"),
        ("{$#%}^", r"{\$#%}^", r"\{\$\#\%\}\textasciicircum{}"),
        ("#1 @x a#1", "#<!-- -->1 @<!-- -->x a#<!-- -->1", r"\#1 @x a\#1"),
        ("τρ", "τρ", r"$\tau$$\rho$"),
    ):
        assert (escape_md(name), escape_latex(name)) == (md, latex)
    results = make("AP", {ODD: [[0.5]]})
    assert results.render("md").splitlines()[2].startswith(r"| a\\x1b\[b\\u2066 ")
    latex = r"a\textbackslash{}x1b{[}b\textbackslash{}u2066 & 0.5000 \\"
    assert results.render("latex").splitlines()[4] == latex


def test_words_are_escaped_and_are_no_numbers() -> None:
    row = [Cell("t_1%&|"), Cell("-.1"), Cell("-->1"), Cell("-0.5", bold=True)]
    text = write_latex([Grid("", ("a", "b", "c", "d"), [row], labels=0)], RenderOptions())
    assert text.splitlines()[4] == (r"t\_1\%\&\textbar{} & {-}.1 & {-}{-}\textgreater{}1 & \textbf{$-$0.5} \\")
