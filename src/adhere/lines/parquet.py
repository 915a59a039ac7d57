"""Read Parquet files with duckdb, which is an extra."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.extras import need


@contextmanager
def glob_free(path: Path) -> Iterator[str]:
    """Yield a name of the file for duckdb, which takes `a[1].parquet` as a pattern and silently reads `a1.parquet`."""
    if not set("*?[]{}") & set(str(path)):
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "file.parquet"
        link.symlink_to(path.resolve())
        yield str(link)


def read_parquet(path: Path) -> list[dict[str, Any]]:
    """Return every row, by column.

    Raises:
        MissingExtra: duckdb is not installed.
        UsageError: The file is no Parquet file.
    """
    duckdb = need("duckdb", extra="parquet")
    with glob_free(path) as name, duckdb.connect() as database:
        try:
            cursor = database.execute("SELECT * FROM read_parquet(?)", [name])
            columns = [column[0] for column in cursor.description]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            raise UsageError(f"{path}: cannot be read as Parquet: {error}. Copy or make the file again") from error
