"""Authorization of callers over HTTP: the server as an OAuth 2 resource server."""
