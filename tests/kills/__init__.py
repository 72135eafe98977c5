"""Kills of replicas under load: no finished call may be lost."""
