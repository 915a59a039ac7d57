"""Makes `constraints/published/ifbench/english/tagger.xz`, and compares what it tags.

It comes from the model in textblob-aptagger 0.2.0 (MIT).

    pip download --no-deps --no-binary :all: --no-build-isolation textblob-aptagger==0.2.0
    python -m benchmarks.package.tagger textblob-aptagger-0.2.0.tar.gz [--write OUT.xz]

Kept are the features that the first token of a text can have. What every first token has (the bias, and what stands for
the words before it) is summed into one row; weights are rounded to tenths, and those that round to nothing are dropped.
The archive is read without running any of it: the pickle may name nothing but `set`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import pickle
import sys
import tarfile
from collections import defaultdict
from importlib import resources
from pathlib import Path
from typing import Any

SHA256 = "b251a4d8626fbd98e50e36db577e8dad2091161c63c8ba6b4b3d9cdbcbc09fae"
MEMBER = "textblob-aptagger-0.2.0/textblob_aptagger/trontagger-0.1.0.pickle"
# What the tagger puts before a text, as the features of its first token see it.
CONSTANT = (
    "bias", "i-1 tag -START-", "i-2 tag -START2-", "i tag+i-2 tag -START- -START2-", "i-1 word -START2-",
    "i-1 suffix T2-", "i-2 word -START-",
)  # fmt: skip
PREFIXES = {"i suffix ": "s ", "i pref1 ": "p ", "i word ": "w ", "i-1 tag+i word -START- ": "w ", "i+1 word ": "1 ",
            "i+1 suffix ": "e ", "i+2 word ": "2 "}  # fmt: skip


class OnlySets(pickle.Unpickler):
    """Reads lists, dictionaries, texts, numbers and sets."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in {("__builtin__", "set"), ("builtins", "set")}:
            return set
        raise pickle.UnpicklingError(f"the model names {module}.{name}")


def model(archive: Path) -> tuple[dict[str, dict[str, float]], dict[str, str], set[str]]:
    """The weights by feature and tag, the words with one clear tag, and all tags."""
    data = archive.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        sys.exit(f"{archive} is not textblob-aptagger 0.2.0 as it was published (sha256 {SHA256})")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.extractfile(MEMBER)
        assert member is not None
        weights, tags, every = OnlySets(io.BytesIO(member.read()), encoding="utf-8").load()
    return weights, tags, every


def rows(weights: dict[str, dict[str, float]], tags: dict[str, str], every: set[str]) -> set[str]:
    """The lines of the file."""
    summed: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for feature, by_tag in weights.items():
        short = "" if feature in CONSTANT else None
        for prefix, ours in PREFIXES.items():
            if feature.startswith(prefix) and "\t" not in feature and "\n" not in feature:
                short = ours + feature.removeprefix(prefix)
        if short is not None:
            for tag, weight in by_tag.items():
                summed[short][tag] += weight
    summed[""].update({tag: summed[""][tag] for tag in every})  # every tag stands in the row that all others add to
    lines = {f"= {word}\t{tag}" for word, tag in tags.items()}
    for feature, by_tag in summed.items():
        kept = {tag: round(weight * 10) for tag, weight in by_tag.items()}
        text = " ".join(f"{tag}{kept[tag]}" for tag in sorted(kept) if kept[tag] or not feature)
        if text:
            lines.add(f"{feature}\t{text}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    made = rows(*model(asked.archive))
    stored = (resources.files("adhere.constraints.published.ifbench.english") / "tagger.xz").read_bytes()
    ours = set(lzma.decompress(stored).decode().split("\n"))
    print(f"{len(made)} rows made, {len(ours)} stored, {len(made & ours)} equal")
    for line in sorted(made ^ ours)[:20]:
        print("made  " if line in made else "stored", line[:150])
    if asked.write:
        asked.write.write_bytes(lzma.compress("\n".join(sorted(made)).encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
