"""Requests to the server, with the standard library."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterator, Mapping, Optional

from .errors import GateError

_RETRY_PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2)


def part(value: str) -> str:
    """A value as a part of a path."""
    return urllib.parse.quote(value, safe="")


class Transport:
    def __init__(self, url: str, key: Optional[str] = None, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url: must begin with http:// or https://, not {url!r}")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._headers = {"content-type": "application/json", "user-agent": "asyncgate-python"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"

    def post(self, path: str, body: Mapping[str, Any], *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """One request without a retry."""
        data = json.dumps(body, allow_nan=False).encode()
        return self._send(urllib.request.Request(self.url + path, data, self._headers), timeout)

    def get(
        self, path: str, query: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """One request without a retry."""
        return self._send(urllib.request.Request(self._address(path, query), headers=self._headers), timeout)

    def retrying(self, send: Any) -> Dict[str, Any]:
        """Repeats a request that may be repeated while it fails for a temporary reason."""
        for pause in _RETRY_PAUSES:
            try:
                return send()
            except GateError as error:
                if not error.retryable:
                    raise
                time.sleep(error.retry_after or pause * random.uniform(0.75, 1.25))
        return send()

    def lines(self, path: str, query: Mapping[str, Any], timeout: float) -> Iterator[str]:
        """The lines of a stream. It ends when the server closes it or is silent for too long."""
        request = urllib.request.Request(self._address(path, query), headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                for line in response:
                    yield line.decode("utf-8").rstrip("\r\n")
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(error) from error

    def _address(self, path: str, query: Optional[Mapping[str, Any]]) -> str:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self.url + path + (f"?{urllib.parse.urlencode(given)}" if given else "")

    def _send(self, request: urllib.request.Request, timeout: Optional[float]) -> Dict[str, Any]:
        try:
            with urllib.request.urlopen(request, timeout=timeout or self.timeout) as response:
                answer = json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, http.client.HTTPException, socket.timeout) as error:
            raise _unreachable(error) from error
        except ValueError as error:
            raise GateError("The response is not JSON.", code="STRANGE_ANSWER", status=200) from error
        if not isinstance(answer, dict):
            raise GateError("The response is not an object.", code="STRANGE_ANSWER", status=200)
        return answer


def _unreachable(error: BaseException) -> GateError:
    return GateError(f"The server did not respond: {error}", code="UNREACHABLE", status=0, retryable=True)


def _refusal(error: urllib.error.HTTPError) -> GateError:
    try:
        body = json.loads(error.read())
    except (ValueError, OSError):
        body = {}
    if not isinstance(body, dict):
        body = {}
    after = error.headers.get("retry-after")
    return GateError(
        str(body.get("message") or f"The server responded with {error.code}."),
        code=str(body.get("code") or f"HTTP_{error.code}"),
        status=error.code,
        retryable=bool(body.get("retryable", error.code >= 500)),
        retry_after=float(after) if after and after.isdigit() else None,
        hint=body.get("hint"),
        details=body.get("details"),
    )
