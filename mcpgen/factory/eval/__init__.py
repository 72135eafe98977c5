"""Evaluation: an agent solves tasks with a server and the stateful mock of its API."""
