"""Credentials of the server towards the API: values from the environment, per security scheme."""
