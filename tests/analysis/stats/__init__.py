"""Tests of the statistics, against scipy, published examples and slow enumerations."""
