"""Generate suites and training prompts from a seed, each item with an answer that passes.

family.py       defines a family: levels, groups, names; the folders below hold the families by sort
names.py        the package's families, and how the text behind the colon of a name is read
rules.py        rules about form that go together, and a writer of answers that keep them
questions.py    small questions with one right answer, in several wordings
core/           everyday queries with drawn constraints: the suite `core`, training prompts, the study's slices
diagnostic/     twenty templates with exact answers
profile.py      a balanced slice of every family
breadth.py      every kind of constraint alone
"""
