"""open-instruct: a `verifier` for its registry."""
