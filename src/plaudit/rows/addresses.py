"""Addresses of object storage (`s3://`, `gs://`) and of local files (`file://`): the one place that opens them.

Only the server of an address that was given is called: Amazon S3, Google Cloud Storage, or what `AWS_ENDPOINT_URL`
names. Credentials are found by the library that calls it (environment variables, `~/.aws`, the role of a machine);
nothing here reads, keeps or prints them, and an address that carries some is refused.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from plaudit.errors import FileError, MissingExtra

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SCHEMES = ("s3", "gs", "file")
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
_QUERY = r"\?[\w.-]+=.*"
"""Settings behind an address, which may be secrets; a `?` in a pattern is not followed by them."""

Patience = Literal["reading", "writing"]
_ATTEMPTS, _CONNECT, _ANSWER = 3, 3, {"reading": 4, "writing": 60}
"""How often to try, and seconds until a server is given up: about 15 in all, once it is known to be there a minute."""

_PIECE = 32 << 20
"""Bytes to upload before the next are read."""

_PROBLEMS = {
    r"NO_SUCH_BUCKET|NoSuchBucket|Bucket '[^']*' not found": ": there is no bucket {bucket!r}.",
    r"EXPIRED_TOKEN|ExpiredToken|RequestExpired|TokenRefreshRequired|has expired": (
        ": the credentials have expired. Renew them, and run this again."
    ),
    r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|INVALID_CLIENT_TOKEN_ID|InvalidToken|UNRECOGNIZED_CLIENT|"
    r"INVALID_SIGNATURE|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|UNAUTHENTICATED|401 Unauthorized": (
        ": the storage does not know these credentials."
    ),
    r"MovedPermanently|PermanentRedirect|HTTP status 301|AuthorizationHeaderMalformed|IllegalLocationConstraint": (
        ": the bucket is in another region. Set AWS_REGION."
    ),
    r"ACCESS_DENIED|AccessDenied|403 Forbidden|HTTP status 403|PERMISSION_DENIED": (
        ": access denied. The credentials do not allow this, or have expired."
    ),
    r"NETWORK_CONNECTION|curlCode|error sending request|REQUEST_TIMEOUT|UNAVAILABLE|timed out|Connection refused": (
        ": {endpoint} does not answer. Check the network, and AWS_ENDPOINT_URL if it is set."
    ),
    r"SLOW_DOWN|SlowDown|SERVICE_UNAVAILABLE|50[03] ": ": the storage is overloaded. Run this again later.",
    r"Path does not exist|NO_SUCH_KEY|NoSuchKey|404 Not Found|NOT_FOUND|No such file": " does not exist.",
    r"credentials|OAuth2|no providers in chain": ": there are no credentials for this storage.",
    r"No space left": ": No space left on device",
}


def is_address(text: str) -> bool:
    """Return whether a text is an address of this module, rather than a path or the address of a server.

    >>> is_address("s3://bucket/steps.parquet"), is_address("steps.parquet"), is_address("postgresql://host/db")
    (True, False, False)
    """
    return text.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


def find_local_path(text: str) -> str | None:
    """Return the local path of a `file://` address, and a path as it is; None for object storage.

    Raises:
        FileError: The address has a scheme that is not supported, or carries credentials.

    >>> find_local_path("file:///data/steps%201.csv"), find_local_path("a.csv"), find_local_path("s3://b/a.csv")
    ('/data/steps 1.csv', 'a.csv', None)
    """
    found = _SCHEME.match(text)
    if found is None:
        return text
    scheme = found[1]
    if scheme not in _SCHEMES:
        raise FileError(
            f"{hide_secrets(text)} cannot be opened: {scheme}:// is not supported; use s3://, gs:// or file://."
        )
    if text != hide_secrets(text):
        raise FileError(
            f"{hide_secrets(text)} was given with credentials or settings in it. Leave them out of the address: set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role; AWS_ENDPOINT_URL sets the server."
        )
    if scheme != "file":
        return None
    host, slash, path = text[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise FileError(f"{text} is not the address of a local file; write file:///folder/file, with three slashes.")
    return unquote(f"/{path}")


def resolve_address(text: str) -> str:
    """Return a path, also that of a `file://` address; an address of object storage as it is.

    Raises:
        FileError: As for `find_local_path`.

    >>> resolve_address("file:///data/steps.csv"), resolve_address("s3://bucket/runs")
    ('/data/steps.csv', 's3://bucket/runs')
    """
    local = find_local_path(text)
    return text if local is None else local


def hide_secrets(address: str) -> str:
    """Return an address without the user, the password and the query that it may carry.

    >>> hide_secrets("s3://key:secret@bucket/steps.csv?token=abc")
    's3://bucket/steps.csv'
    """
    return re.sub(_QUERY, "", re.sub(r"^([\w+.-]+://)[^/]*@", r"\1", address), flags=re.DOTALL)


def open_address(address: str, patience: Patience = "reading") -> "tuple[FileSystem, str]":
    """Return the file system of an address or a local path, and the path in it; no server is called yet.

    Never leave an output stream of the file system open: Arrow completes the object when it drops the stream, and a
    process that ends before that hangs or aborts. `upload_file` writes whole objects.

    Args:
        address: The address of an object or a folder, or a path.
        patience: "writing" waits a minute for an answer: for a server that has answered before.

    Raises:
        FileError: There is no such scheme, or the address carries credentials or lacks a bucket.
        MissingExtra: pyarrow is not installed.
    """
    local = find_local_path(address)
    try:
        from pyarrow import fs
    except ModuleNotFoundError:
        raise MissingExtra(f"{address} needs pyarrow. Install it: pip install 'plaudit[data]'") from None
    if local is not None:
        return fs.LocalFileSystem(), os.path.abspath(local)
    scheme, path = address.split("://", 1)
    if not path.strip("/") or path.startswith("/"):
        raise FileError(f"{address} names no bucket; write {scheme}://bucket/path.")
    with explain_storage_errors(address):
        if scheme == "gs":
            return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=10)), path.rstrip("/")
        settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
        return _open_s3(path.partition("/")[0], patience, settings), path.rstrip("/")


@lru_cache(maxsize=8)
def _open_s3(bucket: str, patience: Patience, settings: tuple[tuple[str, str], ...]) -> "FileSystem":
    """Return the file system of a bucket, which keeps its connections; `settings` are those of the environment."""
    from pyarrow import fs

    return fs.S3FileSystem(
        endpoint_override=_find_endpoint() or None,
        region=_find_region(bucket) or None,
        connect_timeout=_CONNECT,
        request_timeout=_ANSWER[patience],
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def _find_endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


@lru_cache(maxsize=8)
def _resolve_region(bucket: str) -> str:
    from pyarrow import fs

    return str(fs.resolve_s3_region(bucket))


def _find_region(bucket: str) -> str:
    """Return the region of a bucket: as set, else as Amazon says; an empty string for other servers."""
    found = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    return found or ("" if _find_endpoint() else _resolve_region(bucket))


def storage_options(address: str) -> dict[str, str]:
    """Return what `deltalake` needs to open an address as `open_address` does; nothing secret is among it."""
    if find_local_path(address) is not None:
        return {}
    options = {
        "connect_timeout": f"{_CONNECT}s",
        "timeout": f"{2 * _ANSWER['reading']}s",
        "max_retries": str(_ATTEMPTS - 1),
        "retry_timeout": f"{2 * _ANSWER['reading']}s",
    }
    if address.startswith("s3://"):
        endpoint, region = _find_endpoint(), _find_region(address[len("s3://") :].partition("/")[0])
        options |= {"AWS_REGION": region} if region else {}
        options |= {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}
        options |= {"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {}
    return options


def join_address(address: str, *names: str) -> str:
    """Return the address of what is in a folder.

    >>> join_address("s3://bucket/runs/", "part-0.parquet")
    's3://bucket/runs/part-0.parquet'
    """
    return "/".join([address.rstrip("/"), *names])


def upload_file(path: str, address: str) -> None:
    """Copy a complete local file to an address; the object appears when all of it is there, or not at all.

    Ctrl-C waits for the end of the upload.

    Raises:
        FileError: The storage does not take it; an object that was there stays as it was.
    """
    files, where = open_address(address, "writing")
    with explain_storage_errors(address), ThreadPoolExecutor(1, "plaudit-upload") as uploader:
        # In a thread, which no signal interrupts: to close a stream that lacks the rest would complete the object.
        # Nor does fs.copy_files do: it passes over errors of the last part.
        uploader.submit(_copy, path, files, where).result()


def _copy(path: str, files: "FileSystem", where: str) -> None:
    with open(path, "rb") as file:
        stream = files.open_output_stream(where, compression=None)
        try:
            while piece := file.read(_PIECE):
                stream.write(piece)
                stream.flush()  # or Arrow would hold a copy of all that is not sent yet
        except OSError:
            with suppress(OSError):  # of a failed upload, nothing is completed
                stream.close()
            raise
        stream.close()


@contextmanager
def explain_storage_errors(address: str) -> Iterator[None]:
    """Turn what a storage answers into a FileError that names the address, the problem and what to do."""
    try:
        yield
    except (FileError, BrokenPipeError):
        raise
    except OSError as error:
        raise _explain(address, str(error)) from None


def _explain(address: str, text: str) -> FileError:
    address = hide_secrets(address)
    bucket = address.partition("://")[2].partition("/")[0]
    endpoint = _find_endpoint() if address.startswith("s3://") else ""
    known = {"bucket": bucket, "endpoint": hide_secrets(endpoint) or "the storage"}
    for pattern, problem in _PROBLEMS.items():
        if re.search(pattern, text):
            return FileError(f"{address}{problem.format(**known)}")
    for name in _SECRETS:
        if os.environ.get(name):
            text = text.replace(os.environ[name], "***")
    said = " ".join(re.sub(r"\x1b\[\d*m|<[^>]*>", " ", text).split())
    return FileError(f"{address}: the storage says: {said[:300]}")
