"""Doors: what files of lm-eval name by this path lies in `adhere.integrations.lm_eval`."""
