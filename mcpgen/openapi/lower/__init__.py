"""Conversion of a resolved document of any OpenAPI version to the IR (`mcpgen.ir.api`)."""
