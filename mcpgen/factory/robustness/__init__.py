"""How a server copes with hostile input: experiments, what counts as a fault, and one run."""
