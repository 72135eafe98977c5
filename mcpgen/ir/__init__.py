"""The types that the stages hand to each other; frozen, and without behaviour of their own."""
