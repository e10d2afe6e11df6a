"""What the checks share: an installation of its own for each check, a client of coop's socket, and the WebRTC peer.

The peer is aiortc, which has nothing in common with the daemon's implementation. Everything here follows the documents
of the protocol, not the program.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import struct
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

SWB = os.environ.get("SWB") or os.path.join(os.path.dirname(__file__), "../../target/debug/swb")
# Limits of waits for events: a busy machine may take its time.
LIMIT = int(os.environ.get("LIMIT", 60))
MESSAGE = 65_536
WINDOW = 1 << 20


# ---- what travels ----

def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_b64url(text):
    assert "=" not in text and re.fullmatch(r"[A-Za-z0-9_-]*", text), f"not base64url without padding: {text[:80]}"
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def deflated(data):
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b64url(compress.compress(data) + compress.flush())


def pack(value):
    return deflated(json.dumps(value).encode())


def unpack(text):
    inflate = zlib.decompressobj(-15)
    data = inflate.decompress(from_b64url(text))
    assert inflate.eof and not inflate.unused_data
    return json.loads(data)


def code(secret, text):
    """M of the contract."""
    return b64url(hmac.new(secret, b"swb-tunnel-1 " + text.encode(), hashlib.sha256).digest())


def fingerprint(sdp):
    return re.search(r"a=fingerprint:sha-256 ([0-9A-Fa-f:]+)", sdp, re.IGNORECASE).group(1).upper()


def frame(tag, payload):
    return struct.pack(">IB", len(payload) + 1, tag) + payload


def control_frame(value):
    return frame(1, json.dumps(value).encode())


def read_frame(message):
    """CO-52; a message is exactly one frame."""
    assert isinstance(message, bytes) and len(message) >= 5, message
    length, tag = struct.unpack(">IB", message[:5])
    assert length == len(message) - 4, f"a message of {len(message)} bytes with a frame of {length}"
    return tag, message[5:]


# ---- waiting ----

async def within(awaitable, seconds=LIMIT):
    return await asyncio.wait_for(awaitable, seconds)


async def until(what, fact, seconds=LIMIT):
    """Waits for a fact; returns it."""
    end = time.monotonic() + seconds
    while True:
        value = fact()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < end, f"timed out waiting for {what}"
        await asyncio.sleep(0.05)


# ---- an installation ----

class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}: {self.out!r} {self.err!r}"


class Home:
    """A home directory with a daemon of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="swb-tunnel-")
        self.env = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TERM", "USER", "LOGNAME")}
        self.env |= {"HOME": self.dir, "XDG_RUNTIME_DIR": self.dir + "/run", "XDG_STATE_HOME": self.dir + "/state"}
        self.env |= {"XDG_CONFIG_HOME": self.dir + "/config", "SHELL": "/bin/sh", "TERM": "xterm-256color", "PS1": "$ "}
        os.mkdir(self.dir + "/run", 0o700)
        self.commands = []

    async def start(self, *sessions):
        for name in sessions or ("one",):
            await self.ok("run", "-d", "-n", name, "bash", "--norc", "--noprofile")
        return self

    async def swb(self, *args, stdin="", seconds=LIMIT):
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(SWB, *args, env=self.env, cwd=self.dir, stdin=pipe, stdout=pipe, stderr=pipe)
        out, err = await within(process.communicate(stdin.encode()), seconds)
        return Done(process.returncode, out.decode(), err.decode())

    async def ok(self, *args, **how):
        done = await self.swb(*args, **how)
        assert done.code == 0, (args, done)
        return done.out

    async def json(self, *args):
        return json.loads(await self.ok(*args, "--json"))

    async def screen(self, name):
        return (await self.ok("screen", name)).rstrip("\n").split("\n")

    async def type(self, name, line):
        await self.ok("send", "--enter", name, line)

    async def tunnel(self, *args):
        tunnel = Tunnel()
        await tunnel.start(self, *args)
        self.commands.append(tunnel.process)
        return tunnel

    async def tunnels(self):
        return await self.json("tunnel", "ls")

    def pid(self):
        with open(self.dir + "/.coop/daemon.pid") as file:
            return int(file.read())

    def sockets(self):
        """Inodes of the daemon's UDP sockets."""
        inodes = set()
        for table in ("udp", "udp6"):
            with open(f"/proc/{self.pid()}/net/{table}") as file:
                inodes |= {line.split()[9] for line in file.readlines()[1:]}
        open_ones = {link[8:-1] for link in self.descriptors() if link.startswith("socket:[")}
        return inodes & open_ones

    def descriptors(self):
        directory, links = f"/proc/{self.pid()}/fd", []
        for name in os.listdir(directory):
            with contextlib.suppress(OSError):
                links.append(os.readlink(f"{directory}/{name}"))
        return sorted(links)

    def memory(self):
        """Resident memory of the daemon in MiB."""
        with open(f"/proc/{self.pid()}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024

    def log(self):
        texts = []
        for directory, _, names in os.walk(self.dir):
            for name in names:
                if name.endswith(".log") or "log" in os.path.basename(directory):
                    with open(os.path.join(directory, name), errors="replace") as file:
                        texts.append(file.read())
        return "".join(texts)

    async def close(self):
        for process in self.commands:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        await self.swb("shutdown", "--kill")
        shutil.rmtree(self.dir, ignore_errors=True)


class Tunnel:
    """A running `swb tunnel --json`."""

    async def start(self, home, *args):
        pipe = asyncio.subprocess.PIPE
        command = [SWB, "tunnel", "--json", "--no-stun", *args]
        self.process = await asyncio.create_subprocess_exec(
            *command, env=home.env, cwd=home.dir, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 22)
        self.offer = await self.event("offer")
        self.id, self.url = self.offer["tunnel"], self.offer["url"]
        self.envelope = unpack(self.url.split("#", 1)[1])
        self.secret = from_b64url(self.envelope["secret"])

    async def event(self, name):
        line = await within(self.process.stdout.readline())
        assert line, f"no event {name}: {(await self.process.stderr.read()).decode()}"
        event = json.loads(line)
        assert event["event"] == name, event
        return event

    async def paste(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def closed(self, reason, code):
        event = await self.event("closed")
        assert (event["tunnel"], event["reason"]) == (self.id, reason), event
        assert await self.exit() == code
        return event

    async def exit(self):
        return await within(self.process.wait())


# ---- coop's socket ----

class Coop:
    """A client of coop's socket in command mode."""

    @classmethod
    async def connect(cls, home):
        self = cls()
        self.reader, self.writer = await asyncio.open_unix_connection(home.dir + "/.coop/sock", limit=1 << 22)
        assert await self.ask({"version": 1}) == {"version": 1, "ok": True}
        return self

    async def ask(self, message):
        data = json.dumps(message).encode()
        self.writer.write(struct.pack(">I", len(data)) + data)
        (length,) = struct.unpack(">I", await within(self.reader.readexactly(4)))
        return json.loads(await within(self.reader.readexactly(length)))

    def close(self):
        self.writer.close()


# ---- the web server's part ----

async def request(method, url, bearer=None, body=None, **headers):
    """Status and body of a response."""
    def run():
        data = body.encode() if isinstance(body, str) else body
        call = urllib.request.Request(url, data=data, method=method, headers=headers)
        if bearer is not None:
            call.add_header("Authorization", "Bearer " + bearer)
        try:
            with urllib.request.urlopen(call, timeout=LIMIT) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
    return await asyncio.to_thread(run)


# ---- the peer ----

class Closed(Exception):
    """The channel or the connection has ended."""


class Channel:
    """A channel that the daemon opened."""

    def __init__(self, channel):
        self.channel, self.queue, self.label = channel, asyncio.Queue(), channel.label
        channel.on("message", self.queue.put_nowait)
        channel.on("close", lambda: self.queue.put_nowait(None))

    def send(self, message):
        self.channel.send(message)

    async def message(self, seconds=LIMIT):
        message = await within(self.queue.get(), seconds)
        if message is None:
            self.queue.put_nowait(None)
            raise Closed(self.label)
        return message

    async def ended(self, seconds=LIMIT):
        """Reads to the end; returns what came before it."""
        messages = []
        with contextlib.suppress(Closed):
            while True:
                messages.append(await self.message(seconds))
        return messages


class Terminal:
    """A terminal's channel: acknowledges what it reads, unless it should not."""

    def __init__(self, channel, acknowledge=True):
        self.channel, self.acknowledge = channel, acknowledge
        self.handled = self.acknowledged = 0
        self.data, self.controls = b"", []
        self.longest = MESSAGE
        # What came since the daemon last reported that it dropped output: all that a fresh terminal needs.
        self.fresh = b""

    def type(self, data):
        self.channel.send(frame(0, data))

    def control(self, **message):
        self.channel.send(control_frame(message))

    def ack(self, count=None):
        self.acknowledged = self.handled if count is None else count
        self.control(cmd="ack", bytes=self.acknowledged)

    async def step(self, seconds=LIMIT):
        """Handles one message; returns the control message, if it is one."""
        message = await self.channel.message(seconds)
        assert len(message) <= self.longest, len(message)
        tag, payload = read_frame(message)
        if tag == 0:
            self.handled += len(payload)
            self.data += payload
            self.fresh += payload
            if self.acknowledge and self.handled - self.acknowledged > WINDOW // 8:
                self.ack()
            return None
        assert tag == 1, tag
        self.controls.append(json.loads(payload))
        if self.controls[-1].get("event") == "lagged":
            self.fresh = b""
        return self.controls[-1]

    async def read_until(self, text):
        """Reads until the output since the last call contains a text."""
        end = time.monotonic() + LIMIT
        while text not in self.data:
            assert time.monotonic() < end, f"timed out waiting for {text!r} in {self.data[-2000:]!r}"
            await self.step()
        before, self.data = self.data[:self.data.index(text) + len(text)], self.data[self.data.index(text) + len(text):]
        return before

    async def event(self, condition, seconds=LIMIT):
        while True:
            control = await self.step(seconds)
            if control is not None and condition(control):
                return control

    async def quiet(self, seconds):
        """What arrives in a while."""
        end = time.monotonic() + seconds
        with contextlib.suppress(asyncio.TimeoutError):
            while (rest := end - time.monotonic()) > 0:
                await self.step(rest)


class Peer:
    """The other end of a tunnel."""

    def __init__(self, url):
        self.envelope = unpack(url.split("#", 1)[1])
        self.tunnel = self.envelope["tunnel"]
        self.secret = from_b64url(self.envelope["secret"])
        self.channels = asyncio.Queue()
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.pc.on("datachannel", lambda channel: self.channels.put_nowait(Channel(channel)))

    async def describe(self):
        """Our SDP."""
        await self.pc.setRemoteDescription(RTCSessionDescription(self.envelope["sdp"], "offer"))
        await self.pc.setLocalDescription(await self.pc.createAnswer())
        self.sdp = self.pc.localDescription.sdp
        return self.sdp

    async def answer(self):
        await self.describe()
        return self.packed()

    def packed(self):
        return pack({"version": 1, "tunnel": self.tunnel, "sdp": self.sdp})

    def proof(self, side="peer"):
        return code(self.secret, f"{side}\n{fingerprint(self.envelope['sdp'])}\n{fingerprint(self.sdp)}\n")

    async def opened(self, seconds=LIMIT):
        return await within(self.channels.get(), seconds)

    async def meet(self):
        """Waits for the control channel."""
        self.control = await self.opened()
        assert self.control.label == "coop-control", self.control.label
        channel = self.control.channel
        assert channel.ordered and channel.maxRetransmits is None and channel.maxPacketLifeTime is None

    async def prove(self, **more):
        await self.meet()
        self.control.send(json.dumps({"proof": self.proof(), **more}))
        self.welcome = json.loads(await self.control.message())
        assert self.welcome["ok"] is True and self.welcome["proof"] == self.proof("host"), self.welcome
        return self.welcome

    async def refused(self):
        """The end of a peer that has not proved itself."""
        reply = json.loads(await self.control.message())
        assert (reply["ok"], reply["error"]) == (False, "PROOF_FAILED") and isinstance(reply["message"], str), reply
        assert await self.control.ended(20) == []

    async def ask(self, message):
        self.control.send(message if isinstance(message, (str, bytes)) else json.dumps(message))
        return json.loads(await self.control.message())

    async def attach(self, session="one", cmd="attach", acknowledge=True, **more):
        reply = await self.ask({"cmd": cmd, "session": session, **more})
        assert reply["ok"] is True, reply
        return Terminal(await self.opened(), acknowledge)

    async def web_clients(self, session="one"):
        for item in (await self.ask({"cmd": "ls"}))["sessions"]:
            if item["name"] == session:
                return item["web_clients"]
        return None

    async def close(self):
        await self.pc.close()


async def connect(home, *args, **proof):
    """A tunnel with a peer that has proved itself."""
    tunnel = await home.tunnel(*args)
    peer = Peer(tunnel.url)
    await tunnel.paste(await peer.answer())
    await peer.prove(**proof)
    tunnel.connected = await tunnel.event("connected")
    assert tunnel.connected["tunnel"] == tunnel.id
    return tunnel, peer


class Elsewhere:
    """A peer in a process of its own, to be stopped and killed."""

    async def connect(self, home, *args, session=None):
        self.tunnel = await home.tunnel(*args)
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, os.path.abspath(__file__), self.tunnel.url, *([session] if session else [])]
        self.process = await asyncio.create_subprocess_exec(*command, stdout=pipe)
        home.commands.append(self.process)
        answer = await within(self.process.stdout.readline())
        await self.tunnel.paste(answer.decode().strip())
        assert await within(self.process.stdout.readline()) == b"connected\n"
        await self.tunnel.event("connected")
        return self

    def signal(self, number):
        os.kill(self.process.pid, number)


async def elsewhere(url, session=None):
    peer = Peer(url)
    print(await peer.answer(), flush=True)
    await peer.prove(name="elsewhere")
    if session:
        terminal = await peer.attach(session)
        print("connected", flush=True)
        while b"mark-42" not in terminal.data:
            await terminal.step(3600)
        print("seen", flush=True)
    print("connected", flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(elsewhere(*sys.argv[1:]))
