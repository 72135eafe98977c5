"""From source text to a tree on disk: models, format, skeleton, ownership, writing."""
