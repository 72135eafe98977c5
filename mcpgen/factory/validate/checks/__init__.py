"""The checks of requirements, one module per area of the protocol."""
