"""A model as the judge of what no program can decide.

question.py    the one way to ask a model for JSON about a text that somebody else wrote; filters and reviewers use it,
               too
critic.py      asks it in JSON, and believes only an answer that is exactly the JSON asked for
statements.py  judges the statements of a stored Run with it, beside the Run's own verdicts
"""
