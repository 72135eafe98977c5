"""The generated half of Google Search Console: tools, models and what clients see of them.

Everything in here is rewritten by `mcpgen generate`; do not edit.
"""
