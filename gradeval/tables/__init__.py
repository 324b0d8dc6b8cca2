"""The tables that everything works on: qrels, ranks of a run, and the judgments that combine both."""
