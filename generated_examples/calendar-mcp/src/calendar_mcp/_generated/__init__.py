"""The generated half of Daybook Calendar: tools, models and what clients see of them.

Everything in here is rewritten by `mcpgen generate`; do not edit.
"""
