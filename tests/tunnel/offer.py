"""The offer: what `tunnel` answers on coop's socket, and what `swb tunnel --json` prints."""

import asyncio
import base64
import ipaddress
import json
import re
import subprocess
import time

from support import Coop, Peer, connect, fingerprint, from_b64url, unpack


def _addresses():
    """Addresses of this machine that another one may reach."""
    found = set()
    for interface in json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, check=True).stdout):
        for entry in interface.get("addr_info", []):
            address = ipaddress.ip_address(entry["local"])
            if not address.is_loopback and not address.is_link_local:
                found.add(address)
    return found


def _candidates(sdp):
    return [line.split() for line in sdp.splitlines() if line.startswith("a=candidate:")]


def _complete(sdp):
    """Checks an SDP of an offer."""
    assert "a=setup:actpass" in sdp, sdp
    assert re.search(r"^a=fingerprint:sha-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}\r?$", sdp, re.MULTILINE), sdp
    assert int(re.search(r"a=max-message-size:(\d+)", sdp).group(1)) >= 65_536
    assert "trickle" not in sdp, sdp
    candidates = _candidates(sdp)
    assert all(words[7] == "host" for words in candidates), "without servers there are only host candidates"
    offered = {ipaddress.ip_address(words[4]) for words in candidates}
    assert not any(address.is_loopback for address in offered), offered
    assert offered == _addresses(), (offered, _addresses())


def _envelope(url, sdp, tunnel):
    address, _, packed = url.partition("#")
    assert re.match(r"https?://[^/]+/(.*/)?connect$", address), address
    envelope = unpack(packed)
    assert envelope["version"] == 1 and envelope["sdp"] == sdp and envelope["tunnel"] == tunnel, envelope
    assert isinstance(envelope["hostname"], str) and envelope["hostname"], envelope
    assert len(from_b64url(envelope["secret"])) == 32
    assert re.fullmatch(r"[A-Za-z0-9_-]{8,64}", tunnel), tunnel
    return envelope


# CO-47
async def coop_answers_with_a_complete_offer(home):
    await home.start()
    coop = await Coop.connect(home)
    reply = await coop.ask({"cmd": "tunnel", "session": "one"})
    assert reply["ok"] is True, reply
    sdp = base64.b64decode(reply["offer_sdp"], validate=True).decode()
    _complete(sdp)
    assert re.fullmatch(r"[a-z0-9]{6}", reply["short_code"]), reply["short_code"]
    envelope = _envelope(reply["qr_data"], sdp, reply["tunnel"])
    with open(home.dir + "/.coop/machine_id") as file:
        assert file.read().strip() == envelope["machine_id"]
    # The connection stays in command mode.
    assert (await coop.ask({"cmd": "ls"}))["ok"] is True
    # By its workspace, too (CO-30).
    reply = await coop.ask({"cmd": "tunnel", "session": home.dir})
    assert reply.get("ok") is True or reply["error"] == "SESSION_NOT_FOUND", reply


# CO-31, CO-47
async def unknown_sessions_have_no_tunnel(home):
    await home.start()
    coop = await Coop.connect(home)
    reply = await coop.ask({"cmd": "tunnel", "session": "nope"})
    assert (reply["ok"], reply["error"]) == (False, "SESSION_NOT_FOUND"), reply
    reply = await coop.ask({"cmd": "tunnel", "session": 7})
    assert (reply["ok"], reply["error"]) == (False, "INVALID_COMMAND"), reply
    assert (await coop.ask({"cmd": "ls"}))["ok"] is True
    done = await home.swb("tunnel", "nope", "--json", "--no-stun")
    assert done.code == 3, done
    assert await home.tunnels() == [] and not home.sockets()


# CO-47
async def offer_of_coop_reaches_its_session_only(home):
    await home.start("one", "two")
    coop = await Coop.connect(home)
    reply = await coop.ask({"cmd": "tunnel", "session": "one"})
    # A client may leave after the reply, as `coop` does.
    coop.close()
    await asyncio.sleep(0.5)
    peer = Peer(reply["qr_data"])
    await home.ok("tunnel", "--answer", await peer.answer())
    welcome = await peer.prove()
    assert (welcome["role"], welcome["session"]) == ("drive", "one"), welcome
    reply = await peer.ask({"cmd": "attach", "session": "two"})
    assert reply["error"] == "SESSION_NOT_FOUND", reply
    terminal = await peer.attach("one")
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    await peer.close()


# CO-47
async def every_tunnel_has_new_keys(home):
    await home.start()
    tunnels = [await home.tunnel() for _ in range(3)]

    def distinct(values):
        assert len(set(values)) == 3, values
    sdps = [tunnel.envelope["sdp"] for tunnel in tunnels]
    distinct([tunnel.id for tunnel in tunnels])
    distinct([tunnel.secret for tunnel in tunnels])
    distinct([tunnel.offer["short_code"] for tunnel in tunnels])
    distinct([fingerprint(sdp) for sdp in sdps])
    for field in ("ice-ufrag", "ice-pwd"):
        distinct([re.search(rf"a={field}:(\S+)", sdp).group(1) for sdp in sdps])
    assert len({tunnel.envelope["machine_id"] for tunnel in tunnels}) == 1


# CO-47
async def machine_id_is_kept(home):
    await home.start()
    first = (await home.tunnel()).envelope["machine_id"]
    assert first
    await home.ok("shutdown")
    assert (await home.tunnel()).envelope["machine_id"] == first
    with open(home.dir + "/.coop/machine_id") as file:
        assert file.read().strip() == first


# CO-47
async def command_prints_the_offer(home):
    await home.start()
    tunnel = await home.tunnel("one")
    assert set(tunnel.offer) >= {"event", "tunnel", "url", "short_code", "offer_sdp", "expires"}, tunnel.offer
    sdp = base64.b64decode(tunnel.offer["offer_sdp"], validate=True).decode()
    _complete(sdp)
    _envelope(tunnel.url, sdp, tunnel.id)
    # Five minutes from now, in seconds or milliseconds of the epoch.
    expires = tunnel.offer["expires"]
    expires = expires / 1000 if isinstance(expires, (int, float)) and expires > 1e11 else expires
    assert 240 < expires - time.time() < 310, tunnel.offer["expires"]
    assert await home.tunnels() == [
        {"tunnel": tunnel.id, "session": "one", "role": "drive", "state": "waiting", "peer": None}]


# CO-47
async def tunnels_are_listed(home):
    await home.start()
    assert await home.tunnels() == []
    tunnel, peer = await connect(home, "--role", "watch", name="phone")
    assert await home.tunnels() == [
        {"tunnel": tunnel.id, "session": None, "role": "watch", "state": "connected", "peer": "phone"}]
    assert tunnel.connected["peer"] == "phone", tunnel.connected
    await peer.close()
    await tunnel.closed("peer", 0)
    assert await home.tunnels() == []
