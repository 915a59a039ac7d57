"""Worlds of other libraries, told in words. The libraries' engines decide what happens."""
