"""A row for each value: run, query, metric and value, separated by tabs."""

from __future__ import annotations

from functools import partial

from gradeval.render.layout import RenderOptions, blocks, one_field, rows_of, side_by_side, texts_of, with_ends
from gradeval.results import Results
from gradeval.run_result import Column


def render(results: Results, options: RenderOptions) -> str:
    write = partial(texts_of, digits=options.digits, escape=one_field)
    if options.wide:
        runs = "".join(f"\t{one_field(run.name)}" for run in results.runs)
        return f"query\tmetric{runs}\n" + "".join(
            "\t".join([one_field(query), str(spec), *texts]) + "\n"
            for spec, rows in side_by_side(results, options, write)
            for query, texts in rows
        )
    lines = ["run\tquery\tmetric\tvalue" + ("\tlow\thigh\n" if results.has_tie_range else "\n")]

    def cells(column: Column) -> list[str]:
        return list(map("\t".join, with_ends(column, write))) if results.has_tie_range else write(column)

    for block in blocks(results, options, cells):
        run = one_field(block.run.name)
        starts = [f"{run}\t{one_field(query)}" for query in block.queries]
        lines.append(rows_of(block, starts, lambda spec: f"\t{spec}\t", "\n"))
    return "".join(lines)
