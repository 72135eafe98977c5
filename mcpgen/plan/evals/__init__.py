"""The first tasks of `evals/tasks.yaml`."""
