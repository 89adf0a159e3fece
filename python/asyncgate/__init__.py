"""Workers and clients for AsyncGate, with the standard library only."""

from .client import Client
from .context import Context
from .errors import GateError, HandlerError, Parked, Permanent, RetryAfter, TaskAborted, TaskCanceled, TaskFailed, WaitTimeout
from .worker import Worker

__all__ = [
    "Client",
    "Context",
    "GateError",
    "HandlerError",
    "Parked",
    "Permanent",
    "RetryAfter",
    "TaskAborted",
    "TaskCanceled",
    "TaskFailed",
    "WaitTimeout",
    "Worker",
]
