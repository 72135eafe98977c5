"""The state of servers, computed from evidence alone."""
