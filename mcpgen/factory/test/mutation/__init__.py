"""What a server's tests are worth: faults are put into it one by one, and the tests must fail."""
