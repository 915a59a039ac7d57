"""The cost of training and the origin of its settings: the ledger, the cost model, memory, estimates, provenance."""
