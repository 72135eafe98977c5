"""Output of the pipeline: models, formatting, skeleton, file ownership, and writing to the disk."""
