"""Masks of bank account numbers."""

SHOWN_CHARACTERS = 4


def mask_iban(iban: str) -> str:
    """Return an IBAN of which the country and the last four characters are readable.

    People tell their accounts apart by these. All is masked of a text that is too short to be one.
    """
    number = iban.replace(" ", "")
    hidden = len(number) - SHOWN_CHARACTERS - 2
    if hidden < SHOWN_CHARACTERS:
        return "*" * len(number)
    return number[:2] + "*" * hidden + number[-SHOWN_CHARACTERS:]
