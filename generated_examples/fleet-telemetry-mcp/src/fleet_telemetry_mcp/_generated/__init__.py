"""The generated half of Wayfleet: tools, models and what clients see of them.

Everything in here is rewritten by `mcpgen generate`; do not edit.
"""
