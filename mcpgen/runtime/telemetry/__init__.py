"""OpenTelemetry, the log line and the audit line of a call. Off until it is configured."""
