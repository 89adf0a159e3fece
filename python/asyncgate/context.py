"""What a handler gets besides its payload."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set

from .errors import GateError, Parked, TaskAborted
from .transport import part

if TYPE_CHECKING:
    from .worker import Worker

_MAX_LINES = 1000
_BATCH = 100
_PROGRESS_SECONDS = 0.25


class Context:
    """One run of a task. It can be used by the threads of the handler."""

    def __init__(self, worker: "Worker", offer: Dict[str, Any]) -> None:
        self._worker = worker
        self._lease_id = offer["lease_id"]
        self._aborted = threading.Event()
        self._kind: Optional[str] = None
        self._lines: List[Dict[str, Any]] = []
        self._dropped = 0
        self._lock = threading.Lock()
        self._used: Set[int] = set()
        self._progress_at = 0.0
        self.question: Optional[Dict[str, Any]] = None
        self.task = offer
        #: The number of failed attempts before this one: 0 for the first.
        self.attempt: int = offer["attempt"]
        #: Higher than the fence of every earlier lease of the task.
        self.fence: int = offer["fence"]
        #: The same for every attempt of this task: for idempotent external calls.
        self.idempotency_key: str = offer["task_id"]
        self.expires_at = time.monotonic() + offer["expires_in_ms"] / 1000

    @property
    def aborted(self) -> Optional[str]:
        """Why the handler must stop: canceled, lease_lost or shutdown; None while it may continue."""
        return self._kind

    def check(self) -> None:
        """Raises TaskAborted if the handler must stop. Call it between the parts of long work."""
        if self._kind is not None:
            raise TaskAborted(self._kind)

    def sleep(self, seconds: float) -> None:
        """Sleeps, and raises TaskAborted as soon as the handler must stop."""
        self._aborted.wait(seconds)
        self.check()

    def progress(self, percent: Optional[float] = None, message: Optional[str] = None, **fields: Any) -> None:
        """Reports progress, at most four times per second; further reports are dropped. It never raises."""
        now = time.monotonic()
        if now - self._progress_at < _PROGRESS_SECONDS:
            return
        self._progress_at = now
        given = {"percent": percent, "message": message, **fields}
        report = {name: value for name, value in given.items() if value is not None}
        try:
            self._post("progress", {"progress": report})
        except GateError as error:
            self._worker.note_refusal(self, error)

    def log(self, text: str, level: str = "info", **context: Any) -> None:
        """Adds a line to the log of the task. Lines are sent in batches; it never raises."""
        line: Dict[str, Any] = {"level": level, "text": (text or "(no text)")[:8000].replace("\0", "")}
        if context:
            line["context"] = context
        with self._lock:
            if len(self._lines) < _MAX_LINES:
                self._lines.append(line)
            else:
                self._dropped += 1

    def ask(self, message: str, schema: Optional[Dict[str, Any]] = None, expires_in: Optional[int] = None) -> Any:
        """Asks the agent that created the task. Without an answer the run ends here, and the handler runs again with it."""
        request: Dict[str, Any] = {"message": message}
        if schema is not None:
            request["schema"] = schema
        answer = self._answered("input", request, expires_in)
        return (answer.get("answer") or {}).get("content")

    def approval(
        self, title: str, show: Any = None, reason: Optional[str] = None, expires_in: Optional[int] = None
    ) -> Dict[str, Any]:
        """Asks a person for approval in the same way. A denial cancels the task, so that this returns only after an approval."""
        request: Dict[str, Any] = {"title": title}
        if show is not None:
            request["show"] = show
        if reason is not None:
            request["reason"] = reason
        answer = self._answered("approval", request, expires_in)
        comment = (answer.get("answer") or {}).get("comment")
        return {"by": answer.get("decided_by"), "comment": comment, "at": answer.get("decided_at")}

    def _answered(self, kind: str, request: Dict[str, Any], expires_in: Optional[int]) -> Dict[str, Any]:
        """The recorded answer to the same question. Answers are used in the order in which they were given."""
        for n, each in enumerate(self.task.get("answers") or []):
            is_same = each["kind"] == kind and each["origin"] == "worker" and each["request"] == request
            if is_same and n not in self._used and each["state"] in ("approved", "answered"):
                self._used.add(n)
                return each
        self.question = {"kind": kind, "request": request}
        if expires_in is not None:
            self.question["expires_in_seconds"] = expires_in
        raise Parked()

    # The rest is for the worker.

    def abort(self, kind: str) -> None:
        if self._kind is None:
            self._kind = kind
        self._aborted.set()

    def key(self) -> Dict[str, str]:
        return {
            "worker_id": self._worker.worker_id,
            "task_id": self.task["task_id"],
            "lease_id": self._lease_id,
        }

    def _post(self, action: str, body: Dict[str, Any], timeout: float = 15.0) -> Dict[str, Any]:
        path = f"/v1/tasks/{part(self.task['task_id'])}/{action}"
        return self._worker.transport.post(path, {**self.key(), **body}, timeout=timeout)

    def report(self, action: str, body: Dict[str, Any]) -> Dict[str, Any]:
        return self._post(action, body)

    def send_logs(self) -> None:
        """Sends the lines that wait, and drops them if the server refuses them."""
        while True:
            with self._lock:
                batch = self._lines[:_BATCH]
                if self._dropped and len(self._lines) < _MAX_LINES:
                    text = f"{self._dropped} lines were dropped here because they came faster than they could be sent"
                    self._lines.append({"level": "warn", "text": text})
                    self._dropped = 0
            if not batch:
                return
            try:
                self._post("logs", {"lines": batch})
            except GateError as error:
                if error.retryable:
                    return
            with self._lock:
                del self._lines[: len(batch)]
