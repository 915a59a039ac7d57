"""The page that shows the answers of one Run or two, one after another."""
