"""EvalScope: reading what it stored, writing our runs as its files, and our suites and models inside it."""
