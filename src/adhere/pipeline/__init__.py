"""Read this room first: how a prompt becomes a number.

    evaluate.py    the whole way on one page: ask, judge, count, store; and `rescore`, the same without asking
    respond.py     prompts -> Responses, one for every key; a failed call is a Response too
    judge.py       the only place that runs verifiers; what `strict`, `loose`, empty and undecided mean
    check.py       one Response -> its Verdicts
    reward.py      Verdicts -> one number, for training
    guard.py       what stands beside every pass rate: length, repetition, content
    summarize.py   Responses and Verdicts -> counts, rates, intervals
    compare.py     two Runs -> a paired difference with its uncertainty

One judge, four users: evaluation, re-scoring, data building and rewards all call `judge_text`.
"""
