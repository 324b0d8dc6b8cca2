"""How other tools spell our metrics."""
