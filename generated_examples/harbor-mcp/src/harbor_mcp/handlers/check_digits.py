"""Check digits of containers (ISO 6346) and of vessels (IMO)."""

import string

# Letters have the values from 10 on, without the multiples of 11.
LETTERS = dict(zip(string.ascii_uppercase, (it for it in range(10, 39) if it % 11), strict=True))


def is_container_number(number: str) -> bool:
    """Return whether the last digit of a container number fits the ten characters before it."""
    values = [LETTERS[it] if it in LETTERS else int(it) for it in number[:-1]]
    total = sum(value << place for place, value in enumerate(values))
    return total % 11 % 10 == int(number[-1])


def is_imo_number(number: str) -> bool:
    """Return whether the last digit of an IMO number fits the six digits before it."""
    total = sum(int(digit) * (7 - place) for place, digit in enumerate(number[:-1]))
    return total % 10 == int(number[-1])
