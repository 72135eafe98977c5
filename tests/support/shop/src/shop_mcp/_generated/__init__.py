"""The generated half of the package."""
