"""Credentials from the environment to the place where a security scheme wants them."""
