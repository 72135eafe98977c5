"""The experiments of a robustness run, one module for each group."""
