"""Download a published suite's file from its authors, or say where to get it: `adhere fetch suite:NAME`.

Files go to CACHE/suites/NAME/, written whole, with `origin.json` beside them: address, licence, revision, sha256. An
existing file is kept. A download is read as the suite before it is kept, so a page of errors or a file of another
version leaves nothing behind.

`HF_ENDPOINT` is the hub's address, as for the hub's own client; a mirror works too. `HF_TOKEN`, if set, is sent to the
hub. `ADHERE_GITHUB` is the address of a mirror of GitHub's files.
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from adhere.errors import AdhereError, UsageError
from adhere.schema import Record, content_hash, decode, encode, write_atomic
from adhere.suites import Origin, load, source_of
from adhere.suites.published.catalog import HubFile

TIMEOUT_S = 60.0
LARGEST_BYTES = 512 * 1024 * 1024
_HUB = "https://huggingface.co"
_GITHUB = "https://raw.githubusercontent.com"
_CHUNK = 1 << 20


class FetchRecord(Record, frozen=True):
    """Holds what `origin.json` says about a fetched file."""

    suite: str
    file: str
    url: str
    licence: str
    sha256: str
    note: str


class FetchedSuite(NamedTuple):
    """Holds the path of a suite's file (or folder of files), its record, and whether this call got it."""

    path: Path
    stored: FetchRecord
    is_new: bool


def command(name: str, path: str | Path) -> str:
    """Return the command that measures with a suite's file."""
    return f"adhere eval MODEL --suite {name}:{path}"


def where_to_get(name: str) -> str:
    """Say where a person gets the file: repository, files, licence, and the command to use afterwards.

    Raises:
        UnknownName: There is no such suite.
        UsageError: The suite is generated, or the origin of its file is not known.
    """
    origin = _origin(name)
    return (
        f"Suite {name} is read from a file that its authors publish:\n"
        f"  repository  {origin.url}\n  files       {origin.files}\n  licence     {origin.licence}\n"
        f"Then: {command(name, origin.given)}"
    )


def _origin(name: str) -> Origin:
    source = source_of(name)
    if source.generated:
        raise UsageError(
            f"Suite {name!r} is generated from a seed: there is nothing to fetch. Use it as --suite {name}"
        )
    if source.origin is None:
        raise UsageError(f"Suite {name!r} does not say where its file is published. It is used as {source.usage}")
    return source.origin


def fetch_suite(name: str, folder: Path, *, say: Callable[[str], None] = lambda _line: None) -> FetchedSuite:
    """Download the file of a suite into `folder`/NAME, unless it is there already.

    Raises:
        UnknownName: There is no such suite.
        UsageError: The file is on no hub; the message says where a person gets it.
        AdhereError: The hub could not be reached, or what it sent is no file of this suite; nothing is kept.
    """
    origin = _origin(name)
    if not origin.hub:
        raise UsageError(f"adhere fetch cannot get this one.\n{where_to_get(name)}")
    into = folder / name
    files = {Path(file.path).name: file for file in origin.hub}
    path = into / next(iter(files)) if len(files) == 1 else into
    record = into / "origin.json"
    if record.is_file() and all((into / file).is_file() for file in files):
        return FetchedSuite(path, decode(record.read_bytes(), FetchRecord), is_new=False)
    into.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{os.getpid()}.", dir=into) as scratch:
        hashes = {}
        for file, hub in files.items():
            say(f"Fetching {hub.path} of {hub.repository} ({origin.licence})")
            hashes[file] = _download(hub, Path(scratch, file))
        suite = load(f"{name}:{scratch if len(files) > 1 else Path(scratch, path.name)}")
        for file in files:
            Path(scratch, file).replace(into / file)
    url, *more = map(address, origin.hub)
    sha256 = hashes[path.name] if not more else content_hash(hashes)
    note = str(suite.settings.get("note", ""))
    fetch_record = FetchRecord(name, path.name, url.rpartition("/")[0] if more else url, origin.licence, sha256, note)
    write_atomic(record, encode(fetch_record))
    return FetchedSuite(path, fetch_record, is_new=True)


def address(file: HubFile) -> str:
    """Return the URL of a published file."""
    if file.host == "github":
        base = (os.environ.get("ADHERE_GITHUB") or _GITHUB).rstrip("/")
        return f"{base}/{file.repository}/{quote(file.revision, safe='')}/{quote(file.path)}"
    base = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    return f"{base}/datasets/{file.repository}/resolve/{quote(file.revision, safe='')}/{quote(file.path)}"


def _download(hub: HubFile, into: Path) -> str:
    """Download a file to `into` and return its sha256 in hex.

    Raises:
        AdhereError: The file cannot be had, is cut short, or is too large.
        UsageError: The variable of the host's address is no http(s) address.
    """
    url = address(hub)
    if not url.startswith(("https://", "http://")):
        variable = "HF_ENDPOINT" if hub.host == "hub" else "ADHERE_GITHUB"
        raise UsageError(f"{url}: {variable} must begin with https:// or http://")
    headers = _headers(url, may_have_token=hub.host == "hub")
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s) only, above
    digest = hashlib.sha256()
    size = 0
    try:
        with _opener.open(request, timeout=TIMEOUT_S) as answer, into.open("wb") as file:
            while chunk := answer.read(_CHUNK):
                size += len(chunk)
                if size > LARGEST_BYTES:
                    raise AdhereError(
                        f"{url}: sends more than {LARGEST_BYTES >> 20} MiB, which no suite's file has. Nothing was kept"
                    )
                digest.update(chunk)
                file.write(chunk)
            expected = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        raise AdhereError(
            f"{url}: the hub answered {error.code} {error.reason}.{_hint(error.code)} Nothing was kept"
        ) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise AdhereError(
            f"{url}: cannot be reached ({reason}). Check the network or HF_ENDPOINT. Nothing was kept"
        ) from error
    if expected is not None and expected.isdecimal() and int(expected) != size:
        raise AdhereError(f"{url}: sent {size:,} of {int(expected):,} bytes. Run it again; nothing was kept")
    return digest.hexdigest()


def _headers(url: str, *, may_have_token: bool) -> dict[str, str]:
    """Return the headers of a request; the token is added only if allowed, over https or to this machine."""
    token, target = os.environ.get("HF_TOKEN", "") if may_have_token else "", urlsplit(url)
    is_safe = target.scheme == "https" or target.hostname in {"127.0.0.1", "localhost", "::1"}
    return {"User-Agent": "adhere", **({"Authorization": f"Bearer {token}"} if token and is_safe else {})}


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects without sending the token on."""

    def redirect_request(  # noqa: PLR0917 - the base class's signature
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            following.remove_header("Authorization")
        return following


_opener = urllib.request.build_opener(_Redirects)


def _hint(code: int) -> str:
    if code in {401, 403}:
        return " Its authors ask for an account or for consent: accept their terms there and set HF_TOKEN."
    return " The file is not there any more: see the repository." if code == 404 else ""
