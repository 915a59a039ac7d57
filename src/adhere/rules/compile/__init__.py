"""Sentences of a rule file as checks, so far as a program can decide them.

statements.py  a Markdown file as statements: its lists, sentences, headings, imports and nested files
events.py      what phrases name: "committing", "the linter", "files in `src/`"
texts.py       statements about replies, files, commit messages and branches
clauses.py     statements about what is done: never, always, before, after, instead of, ask before
compile.py     a rule file as rules
propose.py     checks that a model proposes, each tried on two sessions first
"""
