"""Verified training data.

    pool.py         one pool from which every stage of every arm of a study takes its rows, by way of:
      draws.py      answers of the start model, resumable
      filter.py     which answers pass, and which can be repaired to pass
      reading.py    whether a text reads as an answer
      pairs.py      pass against fail
      rows.py       from judged answers to rows
      manifest.py   what a pool says about itself
    plain.py        a pool of plain answers, of about the same lengths
    decontaminate/  what training rows share with test items and with held-out prompts
    dataset/        `adhere build DATA.toml`: from queries to verified rows
    checks/         `adhere build checks`: functions that check, written by a model
    transforms/     changes of training rows, one file each
    scorers.py      answers that all scorers call flawless
    convert.py      rows in the columns of other tools

What is kept has passed `pipeline` — the judge that measures — never a check of its own.
"""
