"""Read this room first: how a prompt becomes a number.

    evaluate.py    the whole way on one page: ask, judge, count, store; and `rescore`, the same without asking
    respond.py     prompts -> Responses, one for every key; a failed call is a Response too
    judge.py       the only place that runs verifiers; what `strict`, `loose`, empty and undecided mean
    check.py       one Response -> its Verdicts
    outcomes.py    Verdicts by answer and by prompt: which passed, which failed, which were not measured
    guard.py       what stands beside every pass rate: length, repetition, content
    reward.py      Verdicts -> one number, for training
    summarize/     Responses and Verdicts of a Run -> its Summary: counts, rates, intervals
    compare/       two Runs -> a paired difference with its uncertainty; equal tokens, plain text, what must not be lost
    judge_model/   a model as the judge of what no program can decide
    prepare/       what some models need before they are asked, such as a searched prompt
    api.py         `adhere.judge`, `adhere.check`, `adhere.constraint` and their batch calls

One judge, four users: evaluation, re-scoring, data building and rewards all call `judge_text`.
"""
