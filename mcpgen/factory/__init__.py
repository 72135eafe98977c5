"""What is done around generation: a workspace of servers, looked after together."""
