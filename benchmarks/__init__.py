"""Benchmarks: inputs from the generator, ratios in one run, a table to paste."""
