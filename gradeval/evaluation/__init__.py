"""Qrels × runs × metrics → Results."""
