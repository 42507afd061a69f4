"""Serves an agent with the fleet plugin's own server class, without Hermes around it.

The plugin takes its turns from two hooks that Hermes calls before and after each model call; here a
loop calls them. Text `wait` is never answered; anything else is repeated. Prints the port.
"""

import threading
import time

from hermes_agent_a2a import hooks, server

# Hermes would be woken over a webhook of its own; the loop needs no waking.
server._start_async_webhook_delivery = lambda task_id: None


def take_turns():
    while True:
        context = hooks.pre_llm_call().get("context", "")
        text = context.split("|", 2)[-1].split("\n")[0]
        if context and text != "wait":
            hooks.post_llm_call(assistant_response=f"echo: {text}")
        time.sleep(0.02)


agent = server.A2AServer("127.0.0.1", 0)
threading.Thread(target=take_turns, daemon=True).start()
print(agent.server_address[1], flush=True)
agent.serve_forever()
