"""Pictures of results, as objects and files of SVG, PNG or PDF: gradeval.plot.curve(...) and others."""

from gradeval.commands.plot.pictures import curve, history, means, phi, queries, swaps

__all__ = ["curve", "history", "means", "phi", "queries", "swaps"]


def __dir__() -> list[str]:
    return __all__
