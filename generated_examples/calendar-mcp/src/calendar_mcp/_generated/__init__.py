"""The generated code of Daybook Calendar: tools, models and their definitions for clients.

`mcpgen generate` rewrites everything in this folder; do not edit.
"""
