"""The tables that everything works on: qrels, a run's ranks, and the judgments that both make."""
