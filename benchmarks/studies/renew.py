"""What today's statistics say of a study that older code finished, written into its result.json.

python -m benchmarks.studies.renew docs/studies/study-3

A cell's key holds the code that trained it, so newer code does not go on from older records; but what follows from
evaluations follows from the packed records, whatever trained them. Every part that `adhere reproduce` compares is
computed again and put in (verdict, contrasts, guards, scores, suites, …); logs, costs and data are records and stay.
First everything that is stored must agree with the records: a result that does not is not touched. The page is made
again by `adhere report DIR --html DIR/page.html --markdown DIR/page.md`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from adhere.errors import IntegrityError
from adhere.schema import decode, encode, write_atomic
from adhere.store.files import read_regular
from adhere.study.outcome.reproduce import FRAGILITY_SINCE, RESULT, reproduce, result_again
from adhere.study.outcome.result import StudyResult


def renew(directory: Path) -> StudyResult:
    """Write the result of DIR again; the new one.

    Raises:
        IntegrityError: It does not follow from its records, or was finished under an older rule.
    """
    found = reproduce(directory)
    if found.differ:
        raise IntegrityError(f"{directory}: {found.differ} values differ from the records; see `adhere reproduce`")
    stored = msgspec.json.decode(read_regular(directory / RESULT))
    if stored["version"] < FRAGILITY_SINCE:
        raise IntegrityError(f"{directory}: was finished under an older rule, which its page shows; leave it")
    renewed = decode(encode(stored | result_again(directory)), StudyResult)
    write_atomic(directory / RESULT, encode(renewed))
    return renewed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="a committed study: result.json, records.tar.xz")
    print(renew(parser.parse_args().directory).verdict.headline)


if __name__ == "__main__":
    main()
