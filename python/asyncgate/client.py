"""A client for programs that create tasks."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any, Dict, Iterator, Optional

from .errors import GateError, TaskCanceled, TaskFailed, WaitTimeout
from .transport import Transport, part

_POLL_SECONDS = 20
_SILENCE_SECONDS = 60.0

Task = Dict[str, Any]


class Client:
    """Creates tasks and waits for them. `agent` names the caller under a shared key or without keys."""

    def __init__(
        self, url: str, *, key: Optional[str] = None, agent: Optional[str] = None, timeout: float = 60.0
    ) -> None:
        self._transport = Transport(url, key, timeout)
        self._identity = {} if agent is None else {"principal_kind": "agent", "principal_id": agent}

    def create(self, type: str, payload: Any = None, **options: Any) -> Task:
        """Creates a task and returns `task_id`, `status` and more. The options are the other fields of create_task.

        A request whose response is lost is repeated with the same idempotency_key, so that it creates one task.
        """
        body = {
            "type": type,
            "payload": {} if payload is None else payload,
            "idempotency_key": uuid.uuid4().hex,
            **self._identity,
            **options,
        }
        return self._transport.retrying(lambda: self._transport.post("/v1/tasks", body))

    def get(self, task_id: str) -> Task:
        path = f"/v1/tasks/{part(task_id)}"
        return self._transport.retrying(lambda: self._transport.get(path, self._identity))

    def wait(self, task_id: str, *, timeout: Optional[float] = None) -> Task:
        """Returns the task when it has ended, whatever the outcome. Raises WaitTimeout after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        path = f"/v1/tasks/{part(task_id)}/wait"
        while True:
            left = _POLL_SECONDS if end is None else max(0.0, min(_POLL_SECONDS, end - time.monotonic()))
            query = {**self._identity, "wait_seconds": round(left, 3), "until": "done"}
            task = self._transport.retrying(
                lambda: self._transport.get(path, query, timeout=left + self._transport.timeout)
            )
            if task.get("done"):
                return task
            if end is not None and time.monotonic() >= end:
                raise WaitTimeout(task)

    def result(self, task_id: str, *, timeout: Optional[float] = None) -> Any:
        """Waits for the task and returns its result. Raises TaskFailed or TaskCanceled if it has none."""
        task = self.wait(task_id, timeout=timeout)
        if task["status"] == "failed":
            raise TaskFailed(task)
        if task["status"] == "canceled":
            raise TaskCanceled(task)
        return (task.get("result") or {}).get("result")

    def run(self, type: str, payload: Any = None, *, timeout: Optional[float] = None, **options: Any) -> Any:
        """Creates a task, waits for it and returns its result."""
        return self.result(self.create(type, payload, **options)["task_id"], timeout=timeout)

    def cancel(self, task_id: str, reason: Optional[str] = None) -> Task:
        body = {**self._identity, **({} if reason is None else {"reason": reason})}
        path = f"/v1/tasks/{part(task_id)}/cancel"
        return self._transport.retrying(lambda: self._transport.post(path, body))

    def logs(self, task_id: str) -> Iterator[Dict[str, Any]]:
        """The log lines of a task, oldest first."""
        cursor: Optional[str] = None
        path = f"/v1/tasks/{part(task_id)}/logs"
        while True:
            query = {**self._identity, "limit": 200, "cursor": cursor}
            page = self._transport.retrying(lambda: self._transport.get(path, query))
            yield from page["lines"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def events(self, *, task_id: Optional[str] = None, session_id: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """Changes of your tasks as they commit. A broken stream is opened again; changes in between are not repeated."""
        query = {**self._identity, "task_id": task_id, "session_id": session_id}
        while True:
            try:
                yield from events_in(self._transport.lines("/v1/events", query, _SILENCE_SECONDS))
            except GateError as error:
                if not error.retryable:
                    raise
            time.sleep(1)


def events_in(lines: Iterator[str]) -> Iterator[Dict[str, Any]]:
    name, data = "", ""
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif line == "":
            if name == "task" and data:
                yield json.loads(data)
            name, data = "", ""
