"""FollowBench's rules, under its own semantics.

Source: YJiangcm/FollowBench at 0bbc4d7, `code/rule_based_evaluation.py`, Apache-2.0.
"""
