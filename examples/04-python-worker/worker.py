"""The worker of this example: three task types, each with a handler function."""

import os

from gate_worker import Permanent, Retry, run_worker


def word_count(payload, lease):
    text = payload.get("text") if isinstance(payload, dict) else None
    if not isinstance(text, str):
        raise Permanent("payload.text is not a string")
    lease.progress(50, "counting")
    return {"words": len(text.split())}


def flaky(payload, lease):
    """Fails as often as the payload requests."""
    if lease.task["attempt"] < payload["failures"]:
        raise Retry("temporary failure", after_seconds=payload.get("after_seconds", 0))
    return {"attempt": lease.task["attempt"]}


def count_down(payload, lease):
    """Takes the given number of seconds, and stops early when the lease is lost or the worker stops."""
    for _ in range(payload["seconds"] * 10):
        lease.sleep(0.1)
    return {"waited_seconds": payload["seconds"]}


TYPES = [
    {
        "type": "word_count",
        "description": "Counts the words of a text.",
        "input_schema": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string", "description": "The text"}},
        },
        "output_schema": {"type": "object", "properties": {"words": {"type": "integer"}}},
    },
    {
        "type": "flaky",
        "description": "Fails a number of times before it succeeds.",
        "input_schema": {
            "type": "object",
            "required": ["failures"],
            "properties": {"failures": {"type": "integer"}, "after_seconds": {"type": "number"}},
        },
    },
    {
        "type": "count_down",
        "description": "Takes the given number of seconds.",
        "input_schema": {
            "type": "object",
            "required": ["seconds"],
            "properties": {"seconds": {"type": "integer"}},
        },
    },
]

run_worker(
    os.environ.get("ASYNCGATE_URL", "http://127.0.0.1:8080"),
    {"word_count": word_count, "flaky": flaky, "count_down": count_down},
    types=TYPES,
    key=os.environ.get("ASYNCGATE_API_KEY"),
    worker_id=os.environ.get("WORKER_ID"),
    slots=int(os.environ.get("SLOTS", "4")),
    lease_seconds=int(os.environ.get("LEASE_SECONDS", "60")),
    grace_seconds=float(os.environ.get("GRACE_SECONDS", "10")),
)
