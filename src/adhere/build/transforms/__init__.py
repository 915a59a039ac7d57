"""Transforms of training rows: rows in, rows out, one file each.

`adhere list transforms`; `adhere build transform NAME ROWS`. base.py has what a transform is and the registry; rows.py
reads and writes parts of a row. A transform that attaches a constraint proves with the judge that the row's answer
keeps it; a row that cannot be transformed is left out with a reason, never passed on half done.
"""

from adhere.build.transforms.base import TRANSFORMS, Result, Settings, Transform, transform

__all__ = ["TRANSFORMS", "Result", "Settings", "Transform", "transform"]
