"""Load published suites, one file each: citation, contents of the published file, official aggregation.

catalog.py     the facts that need no file
rows.py        reads IFEval's row format, with an error for every way in which a file can break it
table.py       what the loaders of other formats share
problems.py    finds rows whose constraints contradict each other or their prompt
ifeval_rows/   suites in IFEval's row format
decided/       suites in a format of their own whose rows a program decides
judged/        suites whose rows only a model can judge
"""
