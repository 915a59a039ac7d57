"""Report-like documents, clean and with planted errors, and the scorer of what `adhere claims` says about them.

The package is the examiner: it knows nothing of how the command works, only its ``--json`` contract.
"""
