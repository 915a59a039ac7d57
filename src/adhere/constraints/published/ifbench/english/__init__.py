"""Analyse English as IFBench's checkers do: sentences, tags, syllables, pronouns, stop words."""
