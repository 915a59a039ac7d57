"""Does a sentence of a report stand in its sources? Statements, the passages that speak of them, and a verdict each."""
