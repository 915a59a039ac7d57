"""promptfoo: what it wrote with `--output` (read)."""
