"""Prove what each alignment step bought: arms from one start model on equal data, several seeds, paired statistics."""
