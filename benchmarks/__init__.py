"""Benchmarks: one script for each table or figure; results go to docs/results/."""
