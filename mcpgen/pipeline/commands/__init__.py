"""The work of each command, from its options to its report; nothing here prints."""
