"""Floods: memory stays bounded, and others do not notice."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import struct
import time

from support import Elsewhere, connect, until


def _candidates(sdp):
    return [(words[4], int(words[5])) for words in
            (line.split() for line in sdp.splitlines() if line.startswith("a=candidate:"))]


async def _others_work(home):
    """A local client works, and soon."""
    began = time.monotonic()
    mark = os.urandom(4).hex()
    await home.type("two", f"echo {mark[:4]}''{mark[4:]}")
    await home.ok("wait", "two", "--text", mark, seconds=10)
    took = time.monotonic() - began
    assert took < 5, took
    return took


def _bound(home, before, what):
    now = home.memory()
    assert now < before + 64, f"{what}: {before:.0f} MiB before, {now:.0f} MiB now"


def _binding(username):
    """A STUN binding request with a user name, and without a right integrity."""
    padded = username + b"\0" * (-len(username) % 4)
    attributes = struct.pack(">HH", 6, len(username)) + padded + struct.pack(">HH", 8, 20) + os.urandom(20)
    return struct.pack(">HHI", 1, len(attributes), 0x2112A442) + os.urandom(12) + attributes


# CO-47
async def datagrams_of_strangers(home):
    await home.start("one", "two")
    tunnel, peer = await connect(home)
    waiting = await home.tunnel()
    terminal = await peer.attach()
    before = home.memory()
    for offer, sdp in ((tunnel, peer.sdp), (waiting, None)):
        theirs = re.search(r"a=ice-ufrag:(\S+)", offer.envelope["sdp"]).group(1)
        ours = re.search(r"a=ice-ufrag:(\S+)", sdp).group(1) if sdp else "abcd"
        for address, port in _candidates(offer.envelope["sdp"]):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as stranger:
                for turn in range(2500):
                    datagrams = [_binding(f"{theirs}:{ours}".encode()), _binding(b"x:y"), os.urandom(1 + turn % 1400),
                                 bytes([22 + turn % 3]) + os.urandom(100), b""]
                    for datagram in datagrams:
                        with contextlib.suppress(OSError):
                            stranger.sendto(datagram, (address, port))
                    if turn % 50 == 0:
                        await asyncio.sleep(0)
    await _others_work(home)
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    _bound(home, before, "datagrams")
    assert len(home.log()) < 100_000, "the log does not grow with them"
    # The other one can still be answered.
    assert [item["state"] for item in await home.tunnels() if item["tunnel"] == waiting.id] == ["waiting"]
    await peer.close()


# CO-47
async def pipelined_commands(home):
    await home.start("one", "two")
    _, peer = await connect(home)
    before = home.memory()
    for turn in range(2000):
        peer.control.send(json.dumps({"cmd": "attach", "session": f"unknown-{turn}"}))
    await _others_work(home)
    for turn in range(2000):
        reply = json.loads(await peer.control.message())
        assert f"unknown-{turn}" in reply["message"], (turn, reply)
    _bound(home, before, "commands")
    await peer.close()


# CO-47
async def large_pipelined_commands(home):
    """64 MiB of commands: answered, or the end of this tunnel; nothing else suffers."""
    await home.start("one", "two")
    tunnel, peer = await connect(home)
    before = home.memory()
    text = json.dumps({"cmd": "ls", "more": "x" * 65_000})
    with contextlib.suppress(Exception):
        for turn in range(1000):
            peer.control.send(text)
            if turn % 50 == 0:
                await asyncio.sleep(0.01)
    await _others_work(home)
    _bound(home, before, "commands")
    await peer.close()
    await _others_work(home)


# CO-47
async def opened_channels(home):
    await home.start("one", "two")
    _, peer = await connect(home)
    before = home.memory()
    ended = []
    for turn in range(500):
        channel = peer.pc.createDataChannel(f"mine-{turn}")
        channel.on("close", lambda turn=turn: ended.append(turn))
        if turn % 25 == 0:
            await asyncio.sleep(0.01)
    await _others_work(home)
    await until("the channels to be closed", lambda: len(ended) == 500)
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    terminal = await peer.attach()
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    _bound(home, before, "channels")
    await peer.close()


# CO-47, CO-65
async def a_peer_that_reads_nothing(home):
    await home.start("one", "two")
    peer = await Elsewhere().connect(home, session="one")
    before = home.memory()
    peer.signal(signal.SIGSTOP)
    await home.type("one", "stty -echo; seq 1 3000000; echo $((40+2))end")
    await _others_work(home)
    await home.ok("wait", "one", "--text", "42end", seconds=120)
    _bound(home, before, "output")
    await _others_work(home)
    peer.signal(signal.SIGCONT)


# CO-47
async def input_that_no_program_reads(home):
    await home.start("one", "two")
    tunnel, peer = await connect(home)
    terminal = await peer.attach()
    terminal.type(b"stty raw -echo; echo $((40+2))x; sleep 1000\r")
    await terminal.read_until(b"42x")
    before = home.memory()
    with contextlib.suppress(Exception):
        for turn in range(600):
            terminal.type(b"y" * 65_000)
            if turn % 50 == 0:
                await asyncio.sleep(0.01)
    await _others_work(home)
    _bound(home, before, "input")
    # The peer may lose its terminal, or the tunnel.
    await peer.close()
    await _others_work(home)


# CO-47
async def wrong_answers(home):
    await home.start("one", "two")
    tunnel = await home.tunnel()
    before = home.memory()
    for _ in range(300):
        await tunnel.paste("rubbish")
        await tunnel.event("error")
    await _others_work(home)
    _bound(home, before, "answers")
    assert len(home.log()) < 100_000


# CO-47
async def tunnels_one_after_another(home):
    await home.start("one", "two")
    (await home.tunnel()).process.kill()
    await until("the sockets to be closed", lambda: not home.sockets(), 6)
    before, descriptors = home.memory(), len(home.descriptors())
    for _ in range(30):
        tunnel = await home.tunnel()
        tunnel.process.kill()
        await tunnel.process.wait()
    await until("the sockets to be closed", lambda: not home.sockets(), 6)
    await until("the descriptors to be closed", lambda: len(home.descriptors()) <= descriptors, 6)
    _bound(home, before, "tunnels")
