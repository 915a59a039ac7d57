"""Reports of what sessions did with rules: text for the terminal, and the page."""
