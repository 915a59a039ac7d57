"""Reports of `adhere claims`: page, terminal text, answer to a question."""
