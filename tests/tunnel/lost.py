"""Peers that vanish. These checks take a minute, and do nothing meanwhile."""

import asyncio
import json
import signal
import time

from support import Elsewhere, until


# CO-47
async def killed(home):
    await home.start()
    peer = await Elsewhere().connect(home, session="one")
    began = time.monotonic()
    peer.signal(signal.SIGKILL)
    await asyncio.sleep(15)
    assert peer.tunnel.process.returncode is None
    event = json.loads(await asyncio.wait_for(peer.tunnel.process.stdout.readline(), 80))
    assert (event["event"], event["reason"]) == ("closed", "peer"), event
    took = time.monotonic() - began
    assert took < 75, took
    assert await peer.tunnel.exit() == 0
    await until("the sockets to be closed", lambda: not home.sockets(), 6)


# CO-47
async def stopped_for_a_while(home):
    """Unreachable for less than a minute: the tunnel stays, and output of that time arrives."""
    await home.start()
    peer = await Elsewhere().connect(home, session="one")
    peer.signal(signal.SIGSTOP)
    await asyncio.sleep(15)
    await home.type("one", "echo mark-$((40+2))")
    await asyncio.sleep(15)
    assert [item["state"] for item in await home.tunnels()] == ["connected"]
    peer.signal(signal.SIGCONT)
    assert await asyncio.wait_for(peer.process.stdout.readline(), 60) == b"seen\n"
