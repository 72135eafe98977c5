"""Types that the pipeline's stages pass to each other: immutable data without I/O."""
