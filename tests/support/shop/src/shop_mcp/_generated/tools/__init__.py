"""The tools, one pair of files a tag."""
