"""Give some Models what they need of a Run before they are asked: a method, a searched prompt, a cap on cost."""
