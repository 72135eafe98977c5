"""Reading of JSON and YAML documents from files and URLs, with limits and text positions."""
