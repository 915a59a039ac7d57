"""Published suites, one file each: citation, what the published file holds, official aggregation. All read IFEval's row format.

rows.py           the row format, and every way in which a file can break it
ifeval.py         IFEval
ifbench.py        IFBench, the checkers and prompts of 2026
ifbench_2025.py   IFBench, the checkers of 2025
iftrain.py        IFTrain, the training kinds of IFBench's authors
"""
