"""Limits: messages, terminals, tunnels, and channels of the peer's own."""

import asyncio
import contextlib
import json
import re

from support import Closed, Coop, Peer, Terminal, connect, frame, until


# CO-47
async def messages_of_64_kib_are_accepted(home):
    await home.start()
    _, peer = await connect(home)
    text = json.dumps({"cmd": "ls", "more": ""})
    text = json.dumps({"cmd": "ls", "more": "x" * (65_536 - len(text))})
    assert len(text) == 65_536
    assert (await peer.ask(text))["ok"] is True
    terminal = await peer.attach()
    terminal.type(b"stty -echo -icanon; head -c 65531 >/dev/null; stty icanon; echo $((40+2))x\r")
    await asyncio.sleep(1)
    terminal.type(b"y" * 65_531)
    await terminal.read_until(b"42x")
    await peer.close()


# CO-47
async def a_peer_that_takes_short_messages_only(home):
    """RFC 8841: its answer says how long they may be."""
    await home.start()
    await home.ok("run", "-d", "-n", "more", "sh", "-c", "read go; head -c 400000 /dev/zero | tr '\\0' x; echo; echo end-$((40+2)); cat")
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    sdp = peer.sdp
    peer.sdp = re.sub(r"a=max-message-size:\d+", "a=max-message-size:100", sdp)
    await tunnel.paste(peer.packed())
    await tunnel.event("error")
    peer.sdp = re.sub(r"a=max-message-size:\d+", "a=max-message-size:16384", sdp)
    assert peer.sdp != sdp
    await tunnel.paste(peer.packed())
    await peer.prove()
    terminal = await peer.attach("more")
    terminal.longest = 16_384
    terminal.type(b"go\r")
    await terminal.read_until(b"end-42")
    assert terminal.handled > 400_000
    await peer.close()


# CO-47
async def longer_commands_are_refused(home):
    await home.start()
    tunnel, peer = await connect(home)
    for size in [65_537, 200_000]:
        peer.control.send("x" * size)
        with contextlib.suppress(Closed):
            reply = json.loads(await peer.control.message())
            assert (reply["ok"], reply["error"]) == (False, "MESSAGE_TOO_LARGE"), reply
            assert (await peer.ask({"cmd": "ls"}))["ok"] is True
            continue
        await tunnel.event("closed")
        break
    await home.ok("ls")


# CO-47
async def longer_messages_of_a_terminal_are_refused(home):
    await home.start()
    tunnel, peer = await connect(home)
    terminal = await peer.attach()
    terminal.type(b"y" * 65_532)
    messages = await terminal.channel.ended()
    errors = [json.loads(message[5:]) for message in messages if message[4] == 1]
    assert not errors or errors[-1]["error"] == "MESSAGE_TOO_LARGE", errors
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    await peer.close()


# CO-47
async def there_are_32_terminals(home):
    await home.start()
    _, peer = await connect(home)
    terminals = [await peer.attach() for _ in range(32)]
    for cmd in ("attach", "shell"):
        reply = await peer.ask({"cmd": cmd, "session": "one"})
        assert (reply["ok"], reply["error"]) == (False, "LIMIT_REACHED"), reply
    assert await peer.web_clients() == 32
    terminals[7].control(cmd="detach")
    await terminals[7].channel.ended()

    async def attached():
        return (await peer.ask({"cmd": "attach", "session": "one"}))["ok"]
    await until("a place", attached, 10)
    terminal = Terminal(await peer.opened())
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    # The limit is of each tunnel.
    _, other = await connect(home)
    await other.attach()
    await other.close()
    await peer.close()


# CO-47
async def there_are_16_tunnels(home):
    await home.start()
    tunnels = await asyncio.gather(*[home.tunnel() for _ in range(16)])
    coop = await Coop.connect(home)
    reply = await coop.ask({"cmd": "tunnel", "session": "one"})
    assert (reply["ok"], reply["error"]) == (False, "TUNNEL_FAILED"), reply
    done = await home.swb("tunnel", "--json", "--no-stun")
    assert done.code == 1, done
    assert len(await home.tunnels()) == 16
    await home.ok("tunnel", "revoke", tunnels[3].id)
    await tunnels[3].closed("revoked", 1)
    await home.tunnel()
    # More at once than there is room for.
    for tunnel in tunnels[:3]:
        tunnel.process.kill()
    await until("their end", lambda: _count(home, 13))
    done = await asyncio.gather(*[_open(home) for _ in range(8)])
    assert sorted(done) == [False] * 5 + [True] * 3, done
    assert len(await home.tunnels()) == 16


async def _count(home, count):
    return len(await home.tunnels()) == count


async def _open(home):
    coop = await Coop.connect(home)
    reply = await coop.ask({"cmd": "tunnel", "session": "one"})
    assert reply["ok"] is True or reply["error"] == "TUNNEL_FAILED", reply
    home.kept = getattr(home, "kept", []) + [coop]
    return reply["ok"]


# CO-47
async def channels_of_the_peer_are_closed(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach()
    ended = []
    for turn in range(50):
        channel = peer.pc.createDataChannel(["mine", "coop-control", "coop-pty-one-0", "x" * 1000][turn % 4])
        channel.on("close", lambda turn=turn: ended.append(turn))
        with contextlib.suppress(Exception):
            channel.send('{"cmd":"kill","all":true}')
            channel.send(frame(0, b"echo wrong-$((40+2))\r"))
    await until("the channels to be closed", lambda: len(ended) == 50)
    terminal.type(b"echo right-$((40+2))\r")
    await terminal.read_until(b"right-42")
    assert b"wrong-42" not in terminal.data and (await peer.ask({"cmd": "ls"}))["sessions"]
    await peer.close()
