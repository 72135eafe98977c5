"""The generated code of Everything: tools, models and their definitions for clients.

`mcpgen generate` rewrites everything in this folder; do not edit.
"""
