"""Suites and training prompts that we generate from a seed, each item with an answer that passes.

family.py       what a family is: levels, groups, names; a folder a sort of family below
names.py        the package's families, and what may stand behind the colon of a name
rules.py        rules about form that go together, and a writer of answers that keep them
questions.py    small questions with one right answer, in several wordings
core/           everyday queries with drawn constraints: the suite `core`, training prompts, the study's slices
diagnostic/     twenty templates with exact answers
profile.py      a balanced slice of every family
breadth.py      every kind of constraint alone
"""
