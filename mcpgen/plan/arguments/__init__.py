"""Inputs of a call: arguments, fixed values, settings and credentials."""
