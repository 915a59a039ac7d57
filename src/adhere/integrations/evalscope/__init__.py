"""EvalScope: what it stored (read), our runs as its files (write), our suites and models inside it."""
