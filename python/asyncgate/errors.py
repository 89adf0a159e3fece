"""The errors of handlers and of requests."""

from __future__ import annotations

from typing import Any, Dict, Optional


class GateError(Exception):
    """The server refused a request, or did not respond (`code` is UNREACHABLE and `status` 0)."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int,
        retryable: bool = False,
        retry_after: Optional[float] = None,
        hint: Optional[str] = None,
        details: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.hint = hint
        self.details: Dict[str, Any] = details or {}


class HandlerError(Exception):
    """Raised by a handler, with a code and details that the owner of the task sees."""

    def __init__(self, message: str, *, code: Optional[str] = None, details: Any = None) -> None:
        super().__init__(message)
        self.code = code or type(self).__name__
        self.details = details


class Permanent(HandlerError):
    """The task fails permanently, without a retry."""


class RetryAfter(HandlerError):
    """The task is retried, but not before this number of seconds has passed."""

    def __init__(
        self, seconds: float, message: str = "", *, code: Optional[str] = None, details: Any = None
    ) -> None:
        super().__init__(message or f"Try again after {seconds} s.", code=code, details=details)
        self.seconds = seconds


class TaskAborted(Exception):
    """The handler must stop. `kind` is canceled, lease_lost or shutdown."""

    def __init__(self, kind: str) -> None:
        super().__init__({
            "canceled": "The task was canceled.",
            "lease_lost": "The lease has ended; another worker may have the task.",
            "shutdown": "The worker is stopping.",
        }[kind])
        self.kind = kind


class Parked(BaseException):
    """Ends the run of a handler that has asked a question. Do not catch it: the handler runs again with the answer."""


class WaitTimeout(Exception):
    """The task has not ended in time. It continues; `task` is its latest state."""

    def __init__(self, task: Dict[str, Any]) -> None:
        super().__init__(f"The task is still {task.get('status')}.")
        self.task = task


class TaskFailed(Exception):
    """The task has failed permanently. `task` has the error in `task["result"]["error"]`."""

    def __init__(self, task: Dict[str, Any]) -> None:
        error = (task.get("result") or {}).get("error") or {}
        super().__init__(str(error.get("message") or "The task has failed."))
        self.task = task


class TaskCanceled(Exception):
    """The task was canceled."""

    def __init__(self, task: Dict[str, Any]) -> None:
        super().__init__("The task was canceled.")
        self.task = task
