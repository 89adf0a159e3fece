"""A worker: it claims tasks, renews their leases, reports their outcomes and stops without losing tasks."""

from __future__ import annotations

import logging
import random
import signal
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional

from .context import Context
from .errors import GateError, HandlerError, Parked, Permanent, RetryAfter, TaskAborted
from .client import events_in
from .transport import Transport, part

Handler = Callable[[Any, Context], Any]
Hook = Callable[..., Any]

_log = logging.getLogger("asyncgate")
_LOST = ("LEASE_INVALID_OR_EXPIRED", "TASK_NOT_FOUND")
_HOOKS = ("on_start", "on_success", "on_failure", "on_cancel")
_MAX_TEXT = 2000


@dataclass(frozen=True)
class TaskType:
    """The handler of a task type, and what the worker publishes about it."""

    name: str
    run: Handler
    description: Optional[str] = None
    input_schema: Optional[Dict[str, Any]] = None
    output_schema: Optional[Dict[str, Any]] = None
    hooks: Dict[str, Hook] = field(default_factory=dict)

    def published(self) -> Dict[str, Any]:
        given = {
            "type": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
        }
        return {name: value for name, value in given.items() if value is not None}


class Worker:
    """Runs handlers in threads. Define them with `@worker.task("name")`, then call `run()`."""

    def __init__(
        self,
        url: str,
        *,
        key: Optional[str] = None,
        worker_id: Optional[str] = None,
        concurrency: int = 1,
        lease_seconds: int = 60,
        poll_seconds: int = 20,
        stop_seconds: float = 20.0,
        capabilities: Optional[List[str]] = None,
        publish: bool = True,
        on_start: Optional[Hook] = None,
        on_success: Optional[Hook] = None,
        on_failure: Optional[Hook] = None,
        on_cancel: Optional[Hook] = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError("concurrency: must be at least 1")
        if lease_seconds < 1 or not 1 <= poll_seconds <= 50:
            raise ValueError("lease_seconds must be at least 1, and poll_seconds from 1 to 50")
        self.transport = Transport(url, key)
        self.worker_id = worker_id or f"worker.{uuid.uuid4().hex[:12]}"
        self._is_named = worker_id is not None
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._stop_seconds = stop_seconds
        self._capabilities = capabilities or []
        self._publish = publish
        given = {"on_start": on_start, "on_success": on_success, "on_failure": on_failure, "on_cancel": on_cancel}
        self._hooks: Dict[str, Hook] = {name: hook for name, hook in given.items() if hook is not None}
        self._types: Dict[str, TaskType] = {}
        self._running: Dict[str, Context] = {}
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._ended = threading.Event()

    def task(
        self,
        name: str,
        *,
        description: Optional[str] = None,
        input_schema: Optional[Dict[str, Any]] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        **hooks: Hook,
    ) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a task type: `handler(payload, ctx)` returns the result, which must be JSON.

        Hooks are on_start, on_success, on_failure and on_cancel.
        """
        unknown = [hook for hook in hooks if hook not in _HOOKS]
        if unknown:
            raise TypeError(f"task({name!r}): unknown option {unknown[0]}")
        if name in self._types:
            raise ValueError(f"task({name!r}): there is a handler of this type already")

        def define(run: Handler) -> Handler:
            self._types[name] = TaskType(name, run, description, input_schema, output_schema, dict(hooks))
            return run

        return define

    def stop(self) -> None:
        """Claims no more tasks. `run()` returns when the running ones have ended or were released."""
        self._stopping.set()

    def run(self, *, signals: bool = True) -> None:
        """Runs until `stop()` is called, or SIGTERM or SIGINT arrives. Raises GateError if the server refuses the worker."""
        if not self._types:
            raise ValueError("The worker has no tasks: define one with @worker.task(\"name\").")
        if signals and threading.current_thread() is threading.main_thread():
            for name in (signal.SIGTERM, signal.SIGINT):
                signal.signal(name, lambda *_: self.stop())
        if self._publish:
            self._register()
        threading.Thread(target=self._maintain, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._claim_until_stopped()
        finally:
            self._finish()

    def note_refusal(self, ctx: Context, error: GateError) -> None:
        """A refused request may mean that the task was canceled or that its lease has ended."""
        if error.code in _LOST:
            canceled = error.details.get("task_status") == "canceled"
            ctx.abort("canceled" if canceled else "lease_lost")

    def _register(self) -> None:
        types = [each.published() for each in self._types.values()]
        body = {
            "worker_id": self.worker_id,
            "accept_types": list(self._types),
            "capabilities": self._capabilities,
            "task_types": types,
        }
        try:
            self.transport.retrying(lambda: self.transport.post("/v1/workers/register", body))
        except GateError as error:
            if error.status in (401, 403):
                raise
            _log.warning("the task types are not published: %s", error)

    def _claim_until_stopped(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            with self._changed:
                if len(self._running) >= self._concurrency:
                    self._changed.wait(0.2)
                    continue
                free = self._concurrency - len(self._running)
            body = {
                "worker_id": self.worker_id,
                "accept_types": list(self._types),
                "capabilities": self._capabilities,
                "max_tasks": free,
                "lease_ttl_seconds": self._lease_seconds,
                # Short, because a claim cannot be aborted when the worker is to stop.
                "wait_seconds": min(self._poll_seconds, 2),
            }
            try:
                answer = self.transport.post("/v1/leases/claim", body, timeout=self._poll_seconds + 10)
                failures = 0
            except GateError as error:
                if not error.retryable:
                    raise
                failures += 1
                pause = error.retry_after or min(5.0, 0.25 * 2**failures) * random.uniform(0.75, 1.25)
                _log.warning("no tasks could be claimed: %s", error)
                self._stopping.wait(pause)
                continue
            if answer.get("drain"):
                self.stop()
            for offer in answer["tasks"]:
                self._begin(Context(self, offer))

    def _begin(self, ctx: Context) -> None:
        with self._changed:
            self._running[ctx.task["task_id"]] = ctx
        threading.Thread(target=self._process, args=(ctx,), daemon=True).start()

    def _process(self, ctx: Context) -> None:
        try:
            self._attempt(ctx)
        except Exception:
            _log.exception("a task failed inside of the worker; its lease will expire")
        finally:
            with self._changed:
                self._running.pop(ctx.task["task_id"], None)
                self._changed.notify_all()

    def _attempt(self, ctx: Context) -> None:
        definition = self._types[ctx.task["type"]]
        hooks = [definition.hooks, self._hooks]
        action, body = "", {}  # type: str, Dict[str, Any]
        try:
            self._call(hooks, "on_start", ctx)
            result = definition.run(ctx.task["payload"], ctx)
            action, body = "complete", {"result": result, "artifacts": [inline(ctx)]}
        except Parked:
            action, body = "ask", ctx.question or {}
        except TaskAborted:
            pass
        except BaseException as error:  # noqa: B902 - a handler may raise anything
            if ctx.aborted is None or isinstance(error, Permanent):
                action, body = "fail", failure_of(error)
        if ctx.aborted == "canceled":
            self._call(hooks, "on_cancel", ctx)
            self._tell(ctx, "stopped")
            return
        if ctx.aborted == "lease_lost":
            return
        if action == "complete":
            self._call(hooks, "on_success", ctx, body["result"])
        elif action == "fail":
            last = ctx.attempt + 1 >= ctx.task["max_attempts"]
            self._call(hooks, "on_failure", ctx, body["error"], bool(body["retryable"]) and not last)
        ctx.send_logs()
        if action == "":
            self._report(ctx, "/v1/leases/release", ctx.key())
        else:
            path = f"/v1/tasks/{part(ctx.task['task_id'])}/{action}"
            self._report(ctx, path, {**ctx.key(), **body})

    def _call(self, hooks: List[Dict[str, Hook]], name: str, ctx: Context, *values: Any) -> None:
        """Calls the hooks of the task, then those of the worker. An error is logged and changes nothing."""
        for each in hooks:
            if name not in each:
                continue
            try:
                each[name](ctx, *values)
            except Exception as error:
                _log.exception("the hook %s failed", name)
                ctx.log(f"the hook {name} failed", "error", error=str(error))

    def _tell(self, ctx: Context, stage: str) -> None:
        try:
            ctx.report("cancellation", {"stage": stage})
        except GateError as error:
            _log.debug("the end of a canceled task was not reported: %s", error)

    def _report(self, ctx: Context, path: str, body: Dict[str, Any]) -> None:
        """Reports an outcome, repeatedly until the server has responded or the lease has ended."""
        pause = 0.25
        while True:
            try:
                self.transport.post(path, body, timeout=15.0)
                return
            except (TypeError, ValueError) as error:
                message = f"The result is not JSON: {error}"[:_MAX_TEXT]
                body = {**ctx.key(), "error": {"code": "INVALID_OUTPUT", "message": message}, "retryable": False}
                path = f"/v1/tasks/{part(ctx.task['task_id'])}/fail"
            except GateError as error:
                self.note_refusal(ctx, error)
                if error.code in _LOST or time.monotonic() > ctx.expires_at:
                    return
                if not error.retryable:
                    if path.endswith("/fail"):
                        _log.error("the server refused the outcome of a task: %s", error)
                        return
                    refused = {"code": "RESULT_REFUSED", "message": str(error)[:_MAX_TEXT]}
                    body = {**ctx.key(), "error": refused, "retryable": False}
                    path = f"/v1/tasks/{part(ctx.task['task_id'])}/fail"
                    continue
                time.sleep(pause)
                pause = min(5.0, pause * 2)

    def _maintain(self) -> None:
        """Renews leases after a third of their length, and sends log lines twice per second."""
        renewed: Dict[str, float] = {}
        while not self._ended.wait(0.2):
            with self._changed:
                contexts = list(self._running.values())
            for ctx in contexts:
                ctx.send_logs()
                lease_id = ctx.key()["lease_id"]
                now = time.monotonic()
                due = renewed.setdefault(lease_id, now + (ctx.expires_at - now) / 3)
                if now < due or ctx.aborted in ("canceled", "lease_lost"):
                    continue
                try:
                    answer = self.transport.post(
                        "/v1/leases/renew", {**ctx.key(), "extend_by_seconds": self._lease_seconds}, timeout=10.0
                    )
                    ctx.expires_at = now + answer["expires_in_ms"] / 1000
                    renewed[lease_id] = now + answer["expires_in_ms"] / 3000
                    if answer.get("drain"):
                        self.stop()
                except GateError as error:
                    self.note_refusal(ctx, error)
                    if time.monotonic() > ctx.expires_at:
                        ctx.abort("lease_lost")
            live = {ctx.key()["lease_id"] for ctx in contexts}
            renewed = {lease_id: due for lease_id, due in renewed.items() if lease_id in live}

    def _listen(self) -> None:
        """Aborts canceled tasks immediately. Without the event stream, the next renewal does."""
        query = {"worker_id": self.worker_id, "principal_kind": "worker", "principal_id": self.worker_id}
        while not self._ended.is_set():
            try:
                for change in events_in(self.transport.lines("/v1/events", query, 60.0)):
                    with self._changed:
                        ctx = self._running.get(change.get("task_id", ""))
                    if ctx is not None and change.get("status") == "canceled":
                        ctx.abort("canceled")
                        self._tell(ctx, "acknowledged")
            except GateError as error:
                if not error.retryable:
                    return
            self._ended.wait(1.0)

    def _finish(self) -> None:
        """Lets handlers finish for a while, then tells them to stop, then releases their tasks."""
        if not self._idle(self._stop_seconds):
            with self._changed:
                contexts = list(self._running.values())
            for ctx in contexts:
                ctx.abort("shutdown")
            if not self._idle(5.0):
                with self._changed:
                    contexts = list(self._running.values())
                for ctx in contexts:
                    self._release(ctx)
        self._ended.set()
        if not self._is_named:
            try:
                path = f"/v1/workers/{part(self.worker_id)}/unregister"
                self.transport.post(path, {"worker_id": self.worker_id}, timeout=2.0)
            except GateError:
                pass

    def _release(self, ctx: Context) -> None:
        try:
            self.transport.post("/v1/leases/release", ctx.key(), timeout=2.0)
        except GateError as error:
            _log.warning("a task could not be released; its lease will expire: %s", error)

    def _idle(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        with self._changed:
            while self._running and time.monotonic() < end:
                self._changed.wait(0.1)
            return not self._running


def inline(ctx: Context) -> Dict[str, str]:
    return {"type": "inline", "url": f"inline://task/{ctx.task['task_id']}/result"}


def failure_of(error: BaseException) -> Dict[str, Any]:
    """The body of `fail` for an error that a handler raised."""
    described: Dict[str, Any] = {
        "code": error.code if isinstance(error, HandlerError) else type(error).__name__,
        "name": type(error).__name__,
        "message": str(error)[:_MAX_TEXT].replace("\0", ""),
    }
    if isinstance(error, HandlerError) and error.details is not None:
        described["details"] = error.details
    body: Dict[str, Any] = {"error": described, "retryable": not isinstance(error, Permanent)}
    if isinstance(error, RetryAfter):
        body["retry_after_seconds"] = max(0, int(-(-error.seconds // 1)))
    return body
