"""Suites and training prompts that we generate: our own queries joined with drawn constraints.

queries.py    what is asked: everyday queries in two parts that share no topic
compose.py    one query + some kinds -> one Prompt
deal.py       many Prompts, kinds and topics in equal shares
core.py       the suite `core`: held-out queries, held-out wordings, seen and unseen families
training.py   what may be trained on: the other part of everything
diagnostic*.py  the suite `diagnostic`: twenty templates with exact answers
"""
