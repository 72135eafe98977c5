"""Models: `TypedDict`s that datamodel-code-generator makes."""
