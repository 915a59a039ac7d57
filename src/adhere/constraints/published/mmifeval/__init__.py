"""The kinds of MM-IFEval that a program decides."""
