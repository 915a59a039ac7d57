"""verl: `reward` for its reward manager, `advantages` that leave out what was not measured."""
