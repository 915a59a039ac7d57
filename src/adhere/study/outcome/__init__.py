"""Turn evaluations into the findings of a study: contrasts, guards, the answer and the stored result."""
