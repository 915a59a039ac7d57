"""Parts that pages and terminal texts share: numbers, wording, charts, tables, and making foreign text safe to show."""
