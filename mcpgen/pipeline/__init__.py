"""Where the stages are joined into what the commands do.

Each module is imported by itself: `check` needs a tenth of what `generate` does.
"""
