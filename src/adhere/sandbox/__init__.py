"""Run code that a model wrote, isolated from this machine.

    run.py         `run`: one call of one function; `Outcome`: its result
    workers.py     the processes that are started beforehand, one for each hash seed, and how to talk to them
    bubblewrap.py  the command that wraps a worker in namespaces, where that works
    worker.py      what runs in the worker: a fork for each call (this file and lockdown.py are sent to it as text)
    lockdown.py    what a call gives up before the code runs: privileges, files, system calls, memory, time
    escapes.py     the attempts to get out that `adhere doctor` and the tests make

`run` fails closed: where this machine offers no isolation that passed its own probe, the outcome is `refused` and
nothing runs.
"""

from adhere.sandbox.run import Outcome, Status, backend, run

__all__ = ["Outcome", "Status", "backend", "run"]
