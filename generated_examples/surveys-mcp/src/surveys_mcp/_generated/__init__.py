"""The generated half of Surveys: tools, models and what clients see of them.

Everything in here is rewritten by `mcpgen generate`; do not edit.
"""
