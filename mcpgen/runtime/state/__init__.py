"""State between requests: sessions, event buffers, and the encrypted state of calls."""
