"""Read this room first: how a prompt becomes a number.

    evaluate.py    the whole way on one page: ask, judge, count, store; and `rescore`, the same without asking
    respond.py     prompts -> Responses, one for every key; a failed call is a Response too
    judge.py       the only place that runs verifiers; what `strict`, `loose`, empty and undecided mean
    check.py       one Response -> its Verdicts
    reward.py      Verdicts -> one number, for training
    guard.py       what stands beside every pass rate: length, repetition, content
    counts.py      outcomes -> counts, rates, intervals: the one place that divides
    summarize.py   Responses and Verdicts of a Run -> its Summary
    verify.py      a file of answers that someone already has -> numbers and verdict rows (verify_rows.py: one block of it)
    compare.py     two Runs -> a paired difference with its uncertainty
    sweep.py       every model of an endpoint: list, see who lives, ask all the same, store (sweep_run.py: as a command runs it)
    leaderboard.py Runs of many models -> one table (board.py: its records; board_run.py: one Run -> one row)
    watch.py       what a running measurement says of itself, for whoever looks
    api.py         `adhere.judge`, `adhere.check`, `adhere.constraint` and their batch calls

One judge, four users: evaluation, re-scoring, data building and rewards all call `judge_text`.
"""
