"""M-IFEval's Spanish, French and Japanese kinds, under their own semantics.

Source: lightblue-tech/M-IFEval, arXiv 2502.04688, Apache-2.0.
"""
