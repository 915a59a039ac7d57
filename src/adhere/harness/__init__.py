"""Doors: harnesses live in `adhere.integrations`; files that name them by the old path still find them here."""
