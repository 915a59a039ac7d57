"""Verified training data.

    decontaminate.py  what training prompts share with held-out prompts
    draws.py          answers of the start model, resumable
    filter.py         which answers pass, and which can be repaired to pass
    pairs.py          pass against fail
    rows.py           from judged answers to rows
    manifest.py       what a pool says about itself
    pool.py           all of it: one pool from which every stage of every arm takes its rows

What is kept has passed `pipeline` — the judge that measures — never a check of its own.
"""
