"""Transform training rows, with one file for each transform.

`adhere list transforms` lists them, `adhere build transform NAME ROWS` applies one. base.py defines a transform and the
registry; rows.py reads and writes parts of a row. A transform that attaches a constraint proves with the judge that the
row's answer keeps it; a row that cannot be transformed is left out with a reason, never passed on half done.
"""

from adhere.build.transforms.base import TRANSFORMS, Result, Settings, Transform, transform

__all__ = ["TRANSFORMS", "Result", "Settings", "Transform", "transform"]
