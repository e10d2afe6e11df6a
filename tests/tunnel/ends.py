"""The end of a tunnel: reasons, exit codes, and that nothing stays behind."""

import asyncio
import contextlib
import json
import os
import signal
import time

from support import Peer, connect, until


class _Watched:
    """A tunnel with a peer and a terminal, and what the daemon had open before."""

    async def begin(self, home, *args):
        self.home = home
        await home.start("one", "two")
        self.before = home.descriptors()
        assert not home.sockets()
        self.tunnel, self.peer = await connect(home, *args)
        self.terminal = await self.peer.attach("one")
        self.terminal.type(b"echo $((40+2))x\r")
        await self.terminal.read_until(b"42x")
        assert home.sockets()
        return self

    async def gone(self, reason=None, code=None):
        """Within 6 s channels are closed and no descriptor is left."""
        began = time.monotonic()
        await self.terminal.channel.ended(6)
        await self.peer.control.ended(6)
        await self.nothing_left(6 - (time.monotonic() - began))
        if reason:
            await self.tunnel.closed(reason, code)

    async def nothing_left(self, seconds):
        home = self.home
        await until("the sockets to be closed", lambda: not home.sockets(), seconds)

        def left():
            # Memory files belong to sessions, whose screens are kept from the first look at them.
            rest = [link for link in home.descriptors() if not link.startswith("/memfd:")]
            for link in self.before:
                with contextlib.suppress(ValueError):
                    rest.remove(link)
            return rest
        with contextlib.suppress(AssertionError):
            await until("the descriptors to be closed", lambda: not left(), max(seconds, 1))
        assert not left(), left()
        assert await home.tunnels() == []


# CO-47
async def peer_leaves(home):
    watched = await _Watched().begin(home)
    await watched.peer.close()
    await watched.tunnel.closed("peer", 0)
    await watched.nothing_left(6)


# CO-47
async def peer_closes_the_control_channel(home):
    watched = await _Watched().begin(home)
    watched.peer.control.channel.close()
    await watched.tunnel.closed("peer", 0)
    await watched.gone()


# CO-47
async def revoked(home):
    watched = await _Watched().begin(home)
    assert (await home.swb("tunnel", "revoke", "unknown-tunnel")).code == 1
    await home.ok("tunnel", "revoke", watched.tunnel.id)
    await watched.gone("revoked", 1)
    assert (await home.swb("tunnel", "revoke", watched.tunnel.id)).code == 1


# CO-47
async def revoked_while_it_waits(home):
    await home.start()
    tunnel = await home.tunnel()
    await home.ok("tunnel", "revoke", tunnel.id)
    await tunnel.closed("revoked", 1)
    await until("the sockets to be closed", lambda: not home.sockets(), 6)


# CO-47
async def expired(home):
    await home.start()
    began = time.monotonic()
    tunnel = await home.tunnel("--expires", "2s")
    connected, peer = await connect(home, "--expires", "2s")
    peer_too_late = Peer(tunnel.url)
    answer = await peer_too_late.answer()
    await tunnel.closed("expired", 124)
    assert 1.5 < time.monotonic() - began < 8
    assert (await home.swb("tunnel", "--answer", answer)).code == 1
    # It limits only the wait.
    await asyncio.sleep(2)
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    await peer.close()
    await connected.closed("peer", 0)
    await until("the sockets to be closed", lambda: not home.sockets(), 6)


# CO-47
async def session_killed(home):
    watched = await _Watched().begin(home, "one")
    await home.ok("kill", "one")
    await watched.gone("session", 1)


# CO-47
async def session_ended(home):
    watched = await _Watched().begin(home, "one")
    await home.ok("send", "--enter", "one", "exit")
    await watched.gone("session", 1)


# CO-47, CO-61
async def what_a_session_says_last_arrives(home):
    """A tunnel that reaches one session ends with it, but not before the peer has the rest."""
    await home.ok("run", "-d", "-n", "one", "sh", "-c", "read go; head -c 300000 /dev/zero | tr '\\0' x; echo bye; exit 7")
    tunnel, peer = await connect(home, "one", events=True)
    terminal = await peer.attach("one")
    terminal.type(b"go\r")
    end = await terminal.event(lambda control: control.get("event") == "pty_exited")
    assert end == {"event": "pty_exited", "code": 7}, end
    assert terminal.data.count(b"x") >= 300_000 and b"bye" in terminal.data
    assert await terminal.channel.ended(6) == []
    assert [json.loads(text) for text in await peer.control.ended(6)] == [{"event": "closed", "reason": "session"}]
    await tunnel.closed("session", 1)
    await peer.close()


# CO-47, CO-15
async def the_kill_of_its_own_session_is_answered(home):
    await home.start("one", "two")
    tunnel, peer = await connect(home, "one")
    terminal = await peer.attach("one")
    assert await peer.ask({"cmd": "kill", "session": "one"}) == {"ok": True}
    await terminal.event(lambda control: control.get("event") == "pty_exited")
    assert await terminal.channel.ended(6) == [] and await peer.control.ended(6) == []
    await tunnel.closed("session", 1)
    await peer.close()


# CO-47
async def a_peer_that_asks_is_told_the_reason(home):
    await home.start()
    for asks in (True, False, "yes"):
        tunnel, peer = await connect(home, events=asks)
        await home.ok("tunnel", "revoke", tunnel.id)
        messages = [json.loads(text) for text in await peer.control.ended(6)]
        assert messages == ([{"event": "closed", "reason": "revoked"}] if asks is True else []), messages
        await tunnel.closed("revoked", 1)
        await peer.close()


# CO-47
async def another_session_killed(home):
    watched = await _Watched().begin(home)
    await home.ok("kill", "two")
    assert (await watched.peer.ask({"cmd": "ls"}))["ok"] is True
    await home.ok("kill", "one")
    await watched.terminal.channel.ended()
    assert (await watched.peer.ask({"cmd": "ls"}))["sessions"] == []
    await watched.peer.close()
    await watched.tunnel.closed("peer", 0)


async def _signalled(home, number, code):
    watched = await _Watched().begin(home)
    waiting = await home.tunnel()
    for tunnel in (watched.tunnel, waiting):
        tunnel.process.send_signal(number)
        assert await tunnel.exit() == code
    await watched.gone()


# CO-47
async def interrupted(home):
    await _signalled(home, signal.SIGINT, 0)


# CO-47
async def terminated(home):
    await _signalled(home, signal.SIGTERM, 0)


# CO-47
async def command_killed(home):
    await _signalled(home, signal.SIGKILL, -signal.SIGKILL)


# CO-47, CO-48
async def daemon_stops(home):
    watched = await _Watched().begin(home)
    waiting = await home.tunnel()
    await home.ok("shutdown")
    await watched.terminal.channel.ended(6)
    await watched.peer.control.ended(6)
    await watched.tunnel.closed("daemon", 1)
    await waiting.closed("daemon", 1)
    # The session lives on, the tunnels do not.
    assert await home.tunnels() == []
    await home.ok("screen", "one")


# CO-47
async def daemon_dies(home):
    watched = await _Watched().begin(home)
    os.kill(home.pid(), signal.SIGKILL)
    await watched.tunnel.closed("daemon", 1)
    await home.ok("screen", "one")
    assert await home.tunnels() == [] and not home.sockets()
    await watched.peer.close()


# CO-47
async def daemon_is_replaced(home):
    watched = await _Watched().begin(home)
    await home.ok("upgrade")
    await watched.tunnel.closed("daemon", 1)
    assert await home.tunnels() == [] and not home.sockets()
    await watched.peer.close()


# CO-47
async def peer_is_killed_before_its_proof(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await tunnel.paste(await peer.answer())
    await peer.meet()
    await peer.close()
    event = await tunnel.event("closed")
    assert event["reason"] in ("peer", "refused"), event
    await until("the sockets to be closed", lambda: not home.sockets(), 6)


# CO-47
async def peer_never_comes_after_its_answer(home):
    """Not waited for here: it takes a minute. The tunnel can be ended meanwhile, and the daemon lists it."""
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    # A port at which no process listens.
    peer.sdp = "".join(line for line in peer.sdp.splitlines(keepends=True) if not line.startswith("a=candidate"))
    await peer.close()
    await tunnel.paste(peer.packed())
    await asyncio.sleep(1)
    assert [item["state"] for item in await home.tunnels()] == ["waiting"]
    await home.ok("tunnel", "revoke", tunnel.id)
    await tunnel.closed("revoked", 1)
    await until("the sockets to be closed", lambda: not home.sockets(), 6)
