"""The checks of the rules, by subject."""
