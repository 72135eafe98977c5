"""From the plan to source text, by templates that only lay out."""
