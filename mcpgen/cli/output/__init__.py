"""The only part of the generator that prints."""
