"""Doors: what files of EvalScope name by this path lies in `adhere.integrations.evalscope`."""
