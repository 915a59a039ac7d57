"""The findings of a study: from evaluations to contrasts, guards, the answer and the stored result."""
