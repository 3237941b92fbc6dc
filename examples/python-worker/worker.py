"""An external worker of Starflow, with nothing but Python's standard library.

    STARFLOW_URL=http://127.0.0.1:8787 STARFLOW_TOKEN=... python3 worker.py

It takes jobs of the kind "word-count" one after the other, says every few seconds that it is still at it, and reports what
came of each. It ends with the first SIGTERM or SIGINT, after the job at hand.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

URL = os.environ["STARFLOW_URL"].rstrip("/")
TOKEN = os.environ["STARFLOW_TOKEN"]
WORKER_ID = os.environ.get("WORKER_ID", f"python-{os.getpid()}")
LEASE_SECONDS = 30
WAIT_SECONDS = 20


class CannotBeDone(Exception):
    """No further attempt can help."""


def word_count(payload):
    if not isinstance(payload, dict) or not isinstance(payload.get("text"), str):
        raise CannotBeDone("The payload has no text.")
    words = payload["text"].lower().split()
    return {"words": len(words), "most": Counter(words).most_common(1)[0][0] if words else None}


HANDLERS = {"word-count": word_count}


def post(path, body):
    """Sends a request, and returns (status, body). What does not arrive is sent again: every report may be repeated."""
    request = urllib.request.Request(
        URL + path,
        data=json.dumps(body).encode(),
        headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
    )
    for delay in (0.5, 1, 2, 4, None):
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500 or delay is None:
                return refusal.code, json.load(refusal)
        except (urllib.error.URLError, socket.timeout, ConnectionError):
            if delay is None:
                raise
        time.sleep(delay)


def work_on(job):
    fence = {"workerId": WORKER_ID, "attempt": job["attempt"]}
    path = f"/api/worker-jobs/{job['jobId']}"
    done = threading.Event()

    def beat():
        while not done.wait(LEASE_SECONDS / 3):
            status, _ = post(f"{path}/heartbeat", {**fence, "leaseSeconds": LEASE_SECONDS})
            if status >= 400:
                return  # It is somebody else's now; the report will be refused.

    threading.Thread(target=beat, daemon=True).start()
    try:
        report, body = "complete", {"result": HANDLERS[job["kind"]](job["payload"])}
    except CannotBeDone as problem:
        report, body = "fail", {"error": str(problem), "isPermanent": True}
    except Exception as problem:
        report, body = "fail", {"error": f"{type(problem).__name__}: {problem}"}
    done.set()
    status, _ = post(f"{path}/{report}", {**fence, **body})
    print(f"{report} {job['jobId']} {status}", flush=True)


def main():
    stopping = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.set())
    print(f"{WORKER_ID} takes {', '.join(HANDLERS)}", flush=True)
    while not stopping.is_set():
        claim = {
            "workerId": WORKER_ID,
            "kinds": list(HANDLERS),
            "leaseSeconds": LEASE_SECONDS,
            # Short, so that it ends soon after it is told to; a longer one costs fewer requests.
            "waitSeconds": min(WAIT_SECONDS, 2),
        }
        status, body = post("/api/worker-jobs/claim", claim)
        if status != 200:
            sys.exit(f"The claim was refused: {body['error']['message']} {body['error']['hint']}")
        if body["job"] is not None:
            work_on(body["job"])


if __name__ == "__main__":
    main()
