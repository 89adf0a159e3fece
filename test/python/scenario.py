"""Runs a worker and a client against a server, and prints what happened as JSON."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

from asyncgate import Client, Permanent, TaskAborted, TaskCanceled, TaskFailed, WaitTimeout, Worker  # noqa: E402

url, key = os.environ["ASYNCGATE_URL"], os.environ.get("ASYNCGATE_API_KEY")
calls = []
worker = Worker(
    url,
    key=key,
    worker_id="py",
    concurrency=4,
    on_success=lambda ctx, result: calls.append(f"worker on_success {ctx.task['type']}"),
    on_failure=lambda ctx, error, will_retry: calls.append(f"on_failure {error['code']} {will_retry}"),
    on_cancel=lambda ctx: calls.append("on_cancel"),
)
begun = threading.Event()


def broken_hook(ctx):
    raise RuntimeError("the hook is broken")


@worker.task("add", description="Adds numbers.", on_start=broken_hook)
def add(payload, ctx):
    ctx.log("adding", numbers=payload)
    return sum(payload)


@worker.task("broken")
def broken(payload, ctx):
    raise Permanent("It is broken.", code="BROKEN", details={"part": 7})


@worker.task("endless")
def endless(payload, ctx):
    begun.set()
    try:
        ctx.sleep(600)
    except TaskAborted as aborted:
        calls.append(f"aborted {aborted.kind}")
        raise


@worker.task("greet")
def greet(payload, ctx):
    name = ctx.ask("Who?", {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}})
    return f"Hello {name['name']}"


@worker.task("not_json")
def not_json(payload, ctx):
    return object()


client = Client(url, key=key, agent="tester")
running = threading.Thread(target=lambda: worker.run(signals=False))
running.start()
seen = {}

first = client.create("add", [1, 2, 3])
seen["result"] = client.result(first["task_id"], timeout=30)
seen["logs"] = [line["text"] for line in client.logs(first["task_id"])]

try:
    client.run("broken", timeout=30)
except TaskFailed as failed:
    seen["failed"] = failed.task["result"]["error"]
try:
    client.run("not_json", timeout=30)
except TaskFailed as failed:
    seen["not_json"] = failed.task["result"]["error"]["code"]

slow = client.create("endless")["task_id"]
begun.wait(30)
try:
    client.wait(slow, timeout=0.1)
except WaitTimeout as timeout:
    seen["timeout"] = timeout.task["status"]
client.cancel(slow, "not needed")
try:
    client.result(slow, timeout=30)
except TaskCanceled:
    seen["canceled"] = True

asking = client.create("greet")["task_id"]
for change in client.events(task_id=asking):
    if change["status"] == "input_required":
        break
    if client.get(asking)["status"] == "input_required":
        break
question = client.get(asking)["question"]
client._transport.post(
    f"/v1/tasks/{asking}/answer",
    {"n": question["n"], "content": {"name": "Ada"}, "principal_kind": "agent", "principal_id": "tester"},
)
seen["greeting"] = client.result(asking, timeout=30)

worker.stop()
running.join(30)
seen["stopped"] = not running.is_alive()
seen["calls"] = calls
print(json.dumps(seen))
