"""Workflows: tools that make several calls."""
