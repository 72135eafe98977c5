"""The embedding model that an operator gives to the search (`SEARCH_MODEL`)."""
