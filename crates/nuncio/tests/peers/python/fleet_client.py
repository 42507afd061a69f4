"""Calls a gateway with the fleet plugin's own tool functions and prints what each returned.

Arguments: the address of an agent that answers, and that of one that never ends.
"""

import json
import sys

from hermes_agent_a2a import tool_handlers as tools

# The tools refuse loopback, where the gateway under test is.
tools._validate_target_url = lambda url, allow_loopback=False: url.strip().rstrip("/")

answering, patient = sys.argv[1:3]


def send(url, **arguments):
    return tools.handle_send_protocol_task(url=url, poll_interval=0.05, **arguments)


steps = {
    "discovered": tools.handle_discover(url=answering),
    "sent": send(answering, message="hello", task_id="t1"),
    "taken": send(answering, message="other", task_id="t1"),
    "ended": tools.handle_cancel_protocol_task(url=answering, task_id="t1"),
    "unknown": tools.handle_cancel_protocol_task(url=answering, task_id="nope"),
    "canceled": None,
}

# A task that goes on is begun as the tools do, but without waiting for it.
payload = tools.build_task_send_payload(task_id="t2", message="go", sender_name="alice")
payload["params"]["configuration"] = {"return_immediately": True}
steps["begun"], _ = tools._rpc_call(patient, payload, {}, 10)
steps["canceled"] = tools.handle_cancel_protocol_task(url=patient, task_id="t2")
json.dump(steps, sys.stdout)
