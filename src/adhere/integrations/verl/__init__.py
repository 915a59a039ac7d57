"""verl: `reward` for its reward manager, `advantages` that leave out unmeasured answers."""
