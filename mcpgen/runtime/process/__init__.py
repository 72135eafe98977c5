"""Facilities that all calls of a process share: log, output, memory budgets, worker, watchdog."""
