"""Keep test items out of training data.

The rules themselves (the longest common subsequence, 13 tokens in a row) are in `text.repeats`, where guards of
training use them too.

    parts.py   whether our own training and held-out prompts share a query, topic, family or wording
    rows.py    whether a row repeats a test item: one picklable step (`lines.step`), for one process and every engine
    files.py   files of training data of any size against suites: `adhere decontaminate`; parquet.py: Parquet
    counts.py  what was counted in them
    scores.py  a run's pass rate on all test items and on those that no training row repeats
"""
