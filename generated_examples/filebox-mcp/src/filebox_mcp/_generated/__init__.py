"""The generated half of Filebox: tools, models and what clients see of them.

Everything in here is rewritten by `mcpgen generate`; do not edit.
"""
