"""One file for each method: settings, data, formula, cost model, and its entry in the registry."""
