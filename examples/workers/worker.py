"""Evaluates tickets of a study with nothing but Python: SUREST_TOKEN=… python worker.py http://host:8080 STUDY.

Where surest is installed, surest.open_study("http://host:8080", "study") does the same.
"""

import json
import os
import sys
import time
from urllib import error, parse, request


def evaluate(arm, item=None):
    """Yours: a number for an arm (on an item)."""
    return 0.9 if arm == "good" else 0.2


url, study = sys.argv[1:]
at, worker = f"{url}/api/studies/{parse.quote(study, safe='')}", f"python-{os.getpid()}"
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('SUREST_TOKEN', '')}"}


def send(what, **data):
    """The answer to a call. While the service is away it is sent again, which does no harm."""
    while True:
        try:
            return json.load(
                request.urlopen(request.Request(f"{at}/{what}", json.dumps(data).encode(), headers), timeout=60)
            )
        except error.HTTPError as refused:
            if refused.code < 500 and refused.code != 429:
                sys.exit(refused.read().decode())
        except OSError:
            pass
        time.sleep(1)


while not (answer := send("ask", worker=worker, wait=30, held=[]))["finished"]:
    for ticket in answer["tickets"]:
        try:
            reward = evaluate(ticket["arm"], ticket.get("item"))
        except Exception as problem:
            send("fail", ticket=ticket["ticket"], worker=worker, reason=str(problem))
        else:
            send("tell", ticket=ticket["ticket"], reward=reward, worker=worker)
