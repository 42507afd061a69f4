"""nuncio's door into a running Hermes gateway: messages of other agents become turns in live chats.

Owns what Hermes is told to load. `bridge.py` runs the turns, `door.py` is asked for them over HTTP,
`turn.py` is one of them, `counts.py` answers the command `/a2a_metrics`.
"""

from .bridge import PLATFORM, Bridge, Watch
from .counts import Counts
from .door import can_listen


def register(ctx):
    counts = Counts()
    watch = Watch()

    def make(config):
        counts.configure(config.extra or {})
        return Bridge(config, watch, counts)

    ctx.register_platform(
        name=PLATFORM,
        label="nuncio",
        adapter_factory=make,
        check_fn=can_listen,
        validate_config=lambda _: True,
        is_connected=lambda _: True,
        install_hint="pip install aiohttp",
    )
    ctx.register_hook("pre_llm_call", watch.begun)
    ctx.register_hook("post_llm_call", watch.answered)
    ctx.register_hook("on_session_end", watch.ended)
    # The gateway looks for dashes, whichever are typed; the terminal takes names as they are.
    for name in ("a2a_metrics", "a2a-metrics"):
        ctx.register_command(name, counts.show, "Show what came in over A2A.")
