"""The generated code of Storefront: tools, models and their definitions for clients.

`mcpgen generate` rewrites everything in this folder; do not edit.
"""
