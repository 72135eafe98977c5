"""What this server does by hand; mcpgen wrote this file once and never touches it again."""
