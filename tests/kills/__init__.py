"""Tests that kill replicas under load: no finished call may be lost."""
