"""What sessions did with rules: text for the terminal, and the page."""
