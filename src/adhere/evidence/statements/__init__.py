"""Do sources support the sentences of a report? Statements, the passages that speak of them, and a verdict for each."""
