"""The embedding model that an operator configures for the search (`SEARCH_MODEL`)."""
