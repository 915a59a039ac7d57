"""Rules that agents are told (AGENTS.md, a system prompt): does a session keep them?

session/    what an agent did, whoever logged it
shell/      commands, read and never run
checks/     a rule's check as TOML, and how a session is held against it
compile/    sentences of a rule file as checks
examine.py  rules × sessions → verdicts and rates; what `adhere rules` prints
rates.py    shares that are kept, with intervals; pairs
"""
