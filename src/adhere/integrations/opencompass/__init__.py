"""OpenCompass: what it stored (read)."""
