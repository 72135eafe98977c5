"""Results that were too long for their call: stored for a limited time, and read in parts."""
