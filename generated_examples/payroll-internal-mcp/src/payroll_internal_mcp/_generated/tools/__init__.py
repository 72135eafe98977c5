"""The tools of Payroll: a module of handlers and a JSON contract for each tag."""
