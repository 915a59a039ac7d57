"""promptfoo: reading what it wrote with `--output`."""
