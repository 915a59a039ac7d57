"""Every Eval Ever's records: write only."""
