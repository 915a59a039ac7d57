"""Let a model judge what no program can decide.

question.py    the one way to ask a model for JSON about a text that somebody else wrote; filters and reviewers use it,
               too
critic.py      asks the model in JSON, and counts only a reply that is exactly the JSON asked for
statements.py  judges the statements of a stored Run with a model, apart from the Run's own verdicts
"""
