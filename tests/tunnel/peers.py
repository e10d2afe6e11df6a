"""Peers of other kinds: what answers of browsers look like, and which ways lead to the daemon."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pyte

from answers import _served
from support import SWB, Peer, code, fingerprint, from_b64url, pack, request, until


async def _connects(home, change):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    peer.sdp = change(peer.sdp)
    await tunnel.paste(peer.packed())
    await peer.prove()
    await tunnel.event("connected")
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    await peer.close()
    await tunnel.closed("peer", 0)


def _candidates(sdp, change):
    """The SDP with other candidates: a line becomes none, one or several."""
    lines = []
    for line in sdp.splitlines(keepends=True):
        lines += change(line) if line.startswith("a=candidate:") else [line]
    return "".join(lines)


# CO-47
async def a_browser_that_hides_its_addresses(home):
    """Candidates with names under `.local`, which only the local network resolves."""
    def hidden(line):
        words = line.split(" ")
        words[4] = "0b1d5c2e-77aa-4c0b-9a54-0f5d9a3fbe11.local"
        return [" ".join(words)]
    await _connects(home, lambda sdp: _candidates(sdp, hidden))


# CO-47
async def a_browser_with_tcp_candidates(home):
    def more(line):
        words = line.rstrip().split(" ")
        words[2], words[5] = "tcp", "9"
        return [line, " ".join(words) + " tcptype active generation 0 network-id 1\r\n"]
    await _connects(home, lambda sdp: _candidates(sdp, more))


# CO-47
async def an_answer_without_candidates(home):
    await _connects(home, lambda sdp: _candidates(sdp, lambda line: []).replace("a=end-of-candidates\r\n", ""))


# CO-47
async def a_peer_with_ipv4_only(home):
    await _connects(home, lambda sdp: _candidates(sdp, lambda line: [] if ":" in line.split()[4] else [line]))


# CO-47
async def a_peer_with_ipv6_only(home):
    await _connects(home, lambda sdp: _candidates(sdp, lambda line: [line] if ":" in line.split()[4] else []))


# CO-47
async def a_fingerprint_in_lower_case(home):
    await _connects(home, lambda sdp: sdp.replace(fingerprint(sdp), fingerprint(sdp).lower()))


# CO-47
async def an_answer_with_unknown_attributes(home):
    def change(sdp):
        sdp = sdp.replace("t=0 0\r\n", "t=0 0\r\na=extmap-allow-mixed\r\na=x-unknown:1 2 3\r\n")
        return sdp.replace("a=setup:", "b=AS:30\r\na=ice-options:trickle\r\na=x-more\r\na=setup:", 1)
    await _connects(home, change)


# CO-47
async def an_answer_with_further_fields(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    await tunnel.paste("  " + pack({"version": 1, "tunnel": tunnel.id, "sdp": peer.sdp, "more": {"a": [1]}}) + " \r")
    await peer.prove(more=1)


def _on_terminal(home, *args):
    """Runs a command on a terminal of 80×24; returns its process and our end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([SWB, *args], env=home.env, cwd=home.dir, stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    os.set_blocking(ours, False)
    return process, ours


# CO-47
async def a_code_on_a_terminal(home):
    """With a web server the QR code is short enough for 80×24, and its URL leads to the offer."""
    await home.start()
    web = await _served(home)
    process, terminal = _on_terminal(home, "tunnel", "--no-stun")
    screen, text = pyte.Screen(80, 24), b""
    stream = pyte.ByteStream(screen)

    def shown():
        nonlocal text
        try:
            data = os.read(terminal, 65_536)
        except BlockingIOError:
            data = b""
        text += data
        stream.feed(data)
        return b"Ctrl+C ends the tunnel" in text
    try:
        await until("the offer", shown)
        # The whole code is on the screen at once, each of its lines in one piece.
        drawn = [line for line in text.decode().splitlines() if "█" in line]
        assert len(drawn) >= 15 and all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 80 for line in drawn), drawn
        assert len([line for line in screen.display if "█" in line]) == len(drawn), screen.display
        # With the whole address above it, and what to do below.
        assert screen.display[0].startswith(web + "/connect?t="), screen.display
        assert "Ctrl+C ends the tunnel" in screen.display[-1], screen.display
        found = re.search(re.escape(web) + r"/connect\?t=([A-Za-z0-9_-]{8,64})#([A-Za-z0-9_-]{43})", text.decode())
        assert found, text.decode()
        tunnel, secret = found.group(1), from_b64url(found.group(2))
        status, body = await request("GET", f"{web}/api/tunnel/{tunnel}/offer", code(secret, f"offer\n{tunnel}\n"))
        envelope = json.loads(body)
        assert status == 200 and "secret" not in envelope and envelope["tunnel"] == tunnel, body
        peer = Peer("x#" + pack({**envelope, "secret": found.group(2)}))
        status, _ = await request("POST", f"{web}/api/tunnel/{tunnel}/answer", code(secret, f"answer\n{tunnel}\n"),
                                  await peer.answer())
        assert status == 200
        await peer.prove(name="phone\x1b[2J")

        def connected():
            shown()
            return b"phone" in text
        await until("the peer's name", connected)
        assert b"phone\x1b" not in text and found.group(2).encode() in text
        # Ctrl+C ends it.
        os.write(terminal, b"\x03")
        await until("its end", lambda: process.poll() is not None)
        assert process.returncode == 0
        await peer.control.ended(10)
        await peer.close()
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
