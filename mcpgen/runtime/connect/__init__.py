"""Web pages on which users connect their accounts at the API, see them and revoke them."""
