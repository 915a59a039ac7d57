"""OpenCompass: reading what it stored."""
