"""The skills of a server: their subjects and their texts."""
