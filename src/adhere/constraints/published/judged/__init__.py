"""Statements about an answer that no program decides: a model judges them later (`adhere judge`)."""
