"""The metrics: their names and parameters."""
