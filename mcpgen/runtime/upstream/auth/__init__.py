"""Credentials for the API, by security scheme: of the server, or of its callers."""
