"""Behaviour of a server under hostile input: experiments, criteria for faults, and one run."""
