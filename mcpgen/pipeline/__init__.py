"""The stages, combined into the functions behind the commands.

Each module is imported separately: `check` needs a tenth of the modules of `generate`.
"""
