"""Search over tools: words, synonyms, queries and the index."""
