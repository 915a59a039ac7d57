"""Our own kinds: families that training may use, families that training never sees, and shared helpers."""
