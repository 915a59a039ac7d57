"""Read documents into tables and prose: Markdown, HTML, LaTeX, text, PDF."""
