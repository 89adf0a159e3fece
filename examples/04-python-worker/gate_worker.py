"""A worker for AsyncGate that uses only the standard library of Python 3.9 or later.

It implements the worker rules of docs/protocol.md: it claims tasks with long polling, renews each lease after a
third of its duration, stops when a lease is lost, repeats reports until the server responds, and releases
unfinished tasks when it is stopped.

    run_worker("http://127.0.0.1:8080", {"word_count": lambda payload, lease: len(payload["text"].split())})

With `types`, it also publishes what its task types are for and which payloads they take.
"""

import http.client
import json
import math
import random
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.parse


class Permanent(Exception):
    """Raised by a handler: the task fails permanently. Any other exception is retried."""


class Retry(Exception):
    """Raised by a handler: retry after the given number of seconds; without it the gate determines the delay."""

    def __init__(self, message, after_seconds=None):
        super().__init__(message)
        self.after_seconds = after_seconds


class Stopped(Exception):
    """Raised by lease.check(): the lease is lost, or the worker is stopping."""


class GateError(Exception):
    """An error of the gate, or code UNREACHABLE if there was no response."""

    def __init__(self, code, message, retryable, retry_after=0, details=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        self.details = details or {}

    @property
    def lease_is_gone(self):
        return self.code == "LEASE_INVALID_OR_EXPIRED"

    @property
    def task_is_canceled(self):
        return self.lease_is_gone and self.details.get("task_status") == "canceled"


def pauses():
    """5, 10, 20, 40, then always 60 s, each reduced by a random amount of up to a half."""
    seconds = 5
    while True:
        yield seconds * random.uniform(0.5, 1)
        seconds = min(2 * seconds, 60)


class Gate:
    """Sends requests to the gate, each on a separate connection."""

    def __init__(self, url, key=None):
        self._url = urllib.parse.urlsplit(url.rstrip("/"))
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def post(self, path, body, timeout=15, on_connect=None):
        secure = self._url.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = make(self._url.hostname, self._url.port, timeout=timeout)
        try:
            connection.connect()
            if on_connect:
                on_connect(connection.sock)
            connection.request("POST", self._url.path + path, json.dumps(body).encode(), self._headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise GateError("UNREACHABLE", repr(error), retryable=True) from error
        finally:
            connection.close()
        try:
            content = json.loads(text)
        except ValueError:
            content = {}
        if response.status < 300:
            return content
        raise GateError(
            content.get("code", f"HTTP_{response.status}"),
            content.get("message", "The response does not come from AsyncGate."),
            content.get("retryable", response.status in (502, 503, 504)),
            float(response.getheader("Retry-After") or 0),
            content.get("details"),
        )


class Lease:
    """A task that this worker has leased. A handler reads `task` and calls check() periodically."""

    def __init__(self, gate, worker_id, task, asked_at, on_drain):
        self.task = task
        self._gate = gate
        self._on_drain = on_drain
        self._ids = {"worker_id": worker_id, "lease_id": task["lease_id"]}
        # On the monotonic clock, counted from the time of the request.
        self._ends_at = asked_at + task["expires_in_ms"] / 1000
        self._seconds = math.ceil(task["expires_in_ms"] / 1000)
        self._stop = threading.Event()
        self._over = threading.Event()
        self._lost = False
        self._canceled = False
        self._reported = threading.Lock()

    @property
    def lost(self):
        return self._lost or time.monotonic() >= self._ends_at

    def check(self):
        if self._stop.is_set() or self.lost:
            raise Stopped()

    def sleep(self, seconds):
        """Like time.sleep, but raises Stopped as soon as the handler has to stop."""
        self._stop.wait(seconds)
        self.check()

    def progress(self, percent, message=""):
        """Reports progress to the owner. A lost report has no effect on the task."""
        body = {**self._ids, "progress": {"percent": percent, "message": message}}
        try:
            self._gate.post(self._path("progress"), body)
        except GateError as error:
            if error.lease_is_gone:
                self._lose(error)

    def complete(self, result):
        # The result is stored with the task, which is what this artifact states.
        artifacts = [{"type": "inline", "url": f"inline://task/{self.task['task_id']}/result"}]
        self._end(self._path("complete"), {"result": result, "artifacts": artifacts})

    def fail(self, error, retryable, after_seconds=None):
        # The gate refuses NUL and unpaired surrogates.
        message = str(error)[:2000].encode("utf-8", "replace").decode().replace("\0", "?")
        code = getattr(error, "code", type(error).__name__)
        body = {"error": {"code": str(code), "message": message}, "retryable": retryable}
        if after_seconds is not None:
            body["retry_after_seconds"] = math.ceil(after_seconds)
        self._end(self._path("fail"), body)

    def release(self):
        """Releases the task. No attempt is used."""
        self._end("/v1/leases/release", {"task_id": self.task["task_id"]})

    def stop(self):
        self._stop.set()

    def renew_until_over(self):
        """Renews after a third of the lease, until the task has ended or the lease is lost. Runs in a thread."""
        pause = self._seconds / 3
        while not self._over.wait(max(0, min(pause, self._ends_at - time.monotonic()))):
            if self.lost:
                return self._lose()
            asked_at = time.monotonic()
            body = {**self._ids, "task_id": self.task["task_id"], "extend_by_seconds": self._seconds}
            try:
                renewal = self._gate.post("/v1/leases/renew", body, timeout=min(15, pause))
                if renewal.get("drain"):
                    self._on_drain()
                granted = renewal["expires_in_ms"] / 1000
                self._ends_at = asked_at + granted
                pause = granted / 3
                # The number of renewals is limited: the last ones request more time each.
                if renewal["renewals_left"] <= 5:
                    self._seconds *= 2
            except GateError as error:
                if error.lease_is_gone:
                    return self._lose(error)
                # After a refusal the lease cannot be renewed again: only the remaining time is left.
                pause = min(2, self._seconds / 10) if error.retryable else self._seconds

    def close(self):
        """The handler has ended. If the task was canceled, reports that the work has stopped."""
        self._over.set()
        if self._canceled:
            try:
                self._gate.post(self._path("cancellation"), {**self._ids, "stage": "stopped"}, timeout=5)
            except GateError:
                pass

    def _lose(self, error=None):
        self._lost = True
        self._canceled = self._canceled or (error is not None and error.task_is_canceled)
        self._stop.set()

    def _path(self, verb):
        return f"/v1/tasks/{urllib.parse.quote(self.task['task_id'])}/{verb}"

    def _end(self, path, body):
        """Sends the first outcome that is requested, until the gate responds or the lease is lost."""
        if not self._reported.acquire(blocking=False):
            return
        for pause in pauses():
            if self.lost:
                return
            try:
                self._gate.post(path, {**self._ids, **body})
                return
            except GateError as error:
                if error.lease_is_gone:
                    return self._lose(error)
                if not error.retryable:
                    self._reported.release()
                    raise
                time.sleep(min(max(pause, error.retry_after), max(0, self._ends_at - time.monotonic())))


class Worker:
    def __init__(self, gate, worker_id, handlers, types, slots, lease_seconds, wait_seconds, grace_seconds):
        self._gate = gate
        self._worker_id = worker_id
        self._handlers = handlers
        self._types = types
        self._lease_seconds = lease_seconds
        self._wait_seconds = wait_seconds
        self._grace_seconds = grace_seconds
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._leases = set()
        self._polls = set()
        self._refusal = None
        self._stop_requested = False
        self._threads = [threading.Thread(target=self._loop, daemon=True) for _ in range(slots)]

    def run(self):
        """Works until SIGTERM, SIGINT or a drain; raises if the gate refuses this worker."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._publish()
        for thread in self._threads:
            thread.start()
        while not self._stop_requested and not self._refusal:
            time.sleep(0.1)
        self._stopping.set()
        self._end_polls()
        self._join(self._grace_seconds)
        for lease in self._held():
            lease.stop()
        self._join(1)
        # Handlers that did not stop in time. Their results are no longer sent.
        for lease in self._held():
            lease.release()
        if self._refusal:
            raise self._refusal

    def _on_signal(self, number, _frame):
        # A second signal ends the process immediately. No lock is taken here: the main thread may hold it.
        signal.signal(number, signal.SIG_DFL)
        self._stop_requested = True

    def _drain(self):
        """Stops the worker because the operator drained it, as a signal would."""
        self._stop_requested = True

    def _end_polls(self):
        """Closes the connections of waiting claims, which then lease no task."""
        with self._lock:
            for poll in self._polls:
                try:
                    poll.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _join(self, seconds):
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0, deadline - time.monotonic()))

    def _held(self):
        with self._lock:
            return list(self._leases)

    def _publish(self):
        """Publishes the task types. Publishing the same again changes nothing, and a failure does not stop the worker."""
        if not self._types:
            return
        body = {"worker_id": self._worker_id, "accept_types": sorted(self._handlers), "task_types": self._types}
        try:
            self._gate.post("/v1/workers/register", body)
        except GateError as error:
            log(f"the task types are not published: {error}")

    def _loop(self):
        waits = pauses()
        failed = False
        while not self._stopping.is_set():
            try:
                leases = self._claim()
                waits = pauses()
                if failed:
                    # Another server, which does not know this worker, may have answered.
                    failed = False
                    self._publish()
            except GateError as error:
                if not error.retryable:
                    self._refusal = error
                    return
                failed = True
                if not self._stopping.is_set():
                    log(f"a claim failed: {error}")
                    self._stopping.wait(max(error.retry_after, next(waits)))
                continue
            for lease in leases:
                self._work(lease)

    def _claim(self):
        body = {
            "worker_id": self._worker_id,
            "accept_types": sorted(self._handlers),
            "lease_ttl_seconds": self._lease_seconds,
            "wait_seconds": self._wait_seconds,
        }
        connected = []

        def remember(sock):
            with self._lock:
                connected.append(sock)
                self._polls.add(sock)
            if self._stopping.is_set():
                raise OSError("the worker is stopping")

        asked_at = time.monotonic()
        try:
            claimed = self._gate.post("/v1/leases/claim", body, self._wait_seconds + 10, remember)
        finally:
            with self._lock:
                self._polls.difference_update(connected)
        if claimed.get("drain"):
            self._drain()
        leases = [
            Lease(self._gate, self._worker_id, task, asked_at, self._drain) for task in claimed["tasks"]
        ]
        with self._lock:
            self._leases.update(leases)
            if self._stopping.is_set():
                for lease in leases:
                    lease.stop()
        return leases

    def _work(self, lease):
        threading.Thread(target=lease.renew_until_over, daemon=True).start()
        try:
            self._handle(lease)
        except GateError as error:
            log(f"{lease.task['task_id']}: the report was refused: {error}")
        finally:
            lease.close()
            with self._lock:
                self._leases.discard(lease)

    def _handle(self, lease):
        try:
            lease.check()
            result = self._handlers[lease.task["type"]](lease.task["payload"], lease)
            # Raises if the result is not JSON, before anything is sent.
            json.dumps(result, allow_nan=False)
        except Stopped:
            lease.release()
            return
        except Permanent as error:
            lease.fail(error, retryable=False)
            return
        except Retry as error:
            lease.fail(error, retryable=True, after_seconds=error.after_seconds)
            return
        except Exception as error:
            log(traceback.format_exc())
            lease.fail(error, retryable=True)
            return
        try:
            lease.complete(result)
        except GateError as error:
            # The result was refused, for example because it is too large: report it to the owner.
            lease.fail(error, retryable=False)


def log(line):
    print(line, file=sys.stderr, flush=True)


def run_worker(
    url,
    handlers,
    *,
    types=None,
    key=None,
    worker_id=None,
    slots=4,
    lease_seconds=60,
    wait_seconds=50,
    grace_seconds=10,
):
    """Runs handlers, a function (payload, lease) for each task type, until SIGTERM or SIGINT.

    `types` is a list of {"type", "description", "input_schema", "output_schema"} to publish.
    """
    name = worker_id or f"{socket.gethostname()}-python"
    Worker(Gate(url, key), name, handlers, types, slots, lease_seconds, wait_seconds, grace_seconds).run()
