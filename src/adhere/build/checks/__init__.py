"""`adhere build checks`: a model writes functions and, in other calls, the cases that they are tested on.

    spec.py       what CHECKS.toml may say; the presets of thresholds
    ask.py        what the model is asked, and what its answers are read as
    examine.py    functions against cases in the sandbox: every drop with its stage and reason
    make.py       all of it, resumable; the yield table
    file.py       checks.toml: what survived, for a person to read and for `adhere build` to use

Source: AutoIF (arXiv 2406.13542). Ours runs the code in a sandbox, asks for functions and cases in separate calls,
reads typed labels, keeps cases back, and tries mutants and probes.
"""
