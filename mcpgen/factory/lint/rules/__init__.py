"""The checks of the rules, by what they are about."""
