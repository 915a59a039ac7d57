"""Reports of what `adhere claims` found: page, terminal text, answer to a question."""
