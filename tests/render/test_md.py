from __future__ import annotations

from helpers import each


def test_summary(make) -> None:
    results = make("num_q muAP", {"bm25_k1": [[1], [0.5]], "x": [[1], [0.25]]})
    assert results.render("md") == (
        "| run     | num_q |        µAP |\n"
        "| :------ | ----: | ---------: |\n"
        "| bm25_k1 |     1 | **0.5000** |\n"
        "| x       |     1 |     0.2500 |\n"
    )


def test_queries(make) -> None:
    assert make("AP", {"*a*": [[0.5]]}).render("md", per_query=True) == (
        "**\\*a\\***\n"
        "\n"
        "| query |     AP |\n"
        "| :---- | -----: |\n"
        "| q1    | 0.5000 |\n"
        "\n"
        "| run   |     AP |\n"
        "| :---- | -----: |\n"
        "| \\*a\\* | 0.5000 |\n"
    )


@each(
    "name, escaped",
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("<b>", r"\<b\>"),
        ("`x`", r"\`x\`"),
        ("[a](b)", r"\[a\](b)"),
        ("~~a~~", r"\~\~a\~\~"),
        ("_a_", r"\_a\_"),
        ("a_b_c", "a_b_c"),
        ("a__b", r"a\_\_b"),
        ("&amp;", r"\&amp;"),
        ("$x$", r"\$x\$"),
        ("a\nb", r"a\\nb"),
        ("a\x1b[b\u2066", r"a\\x1b\[b\\u2066"),
    ],
)
def test_special_characters(name: str, escaped: str, make) -> None:
    assert make("AP", {name: [[0.5]]}).render("md").splitlines()[2].startswith(f"| {escaped} ")
