"""Doors: what files of inspect name by this path lies in `adhere.integrations.inspect_ai`."""
