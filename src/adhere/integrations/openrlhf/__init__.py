"""OpenRLHF: `reward` with its function and agent executor."""
