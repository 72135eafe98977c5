"""Retries, concurrency limits and circuit breakers, by the origin of an API."""
