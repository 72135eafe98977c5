"""For tests of servers: a recording mock upstream, an in-memory client, sample values."""
