"""The proof: only a peer that knows the secret and sees the agreed certificates is served."""

import contextlib
import json
import re
import time

from aiortc.exceptions import InvalidStateError

from support import Channel, Peer, code, connect, fingerprint, until


async def _begin(home, *args):
    tunnel = await home.tunnel(*args)
    peer = Peer(tunnel.url)
    await tunnel.paste(await peer.answer())
    return tunnel, peer


async def _spent(home, tunnel, peer):
    """The tunnel has ended as refused, and its offer cannot be used again."""
    await tunnel.closed("refused", 1)
    assert await home.tunnels() == []
    again = Peer(tunnel.url)
    assert (await home.swb("tunnel", "--answer", await again.answer())).code == 1
    await again.close()
    await peer.close()
    await until("the sockets to be closed", lambda: not home.sockets(), 6)


async def _first_message(home, message):
    await home.start()
    tunnel, peer = await _begin(home)
    await peer.meet()
    peer.control.send(message(peer) if callable(message) else message)
    # Sent right behind it, and never executed.
    peer.control.send('{"cmd":"ls"}')
    await peer.refused()
    await _spent(home, tunnel, peer)


# CO-47
async def wrong_proof(home):
    await _first_message(home, lambda peer: json.dumps({"proof": code(b"x" * 32, "peer\n")}))


# CO-47
async def proof_of_the_host_sent_back(home):
    await _first_message(home, lambda peer: json.dumps({"proof": peer.proof("host")}))


# CO-47
async def proof_in_a_binary_message(home):
    await _first_message(home, lambda peer: json.dumps({"proof": peer.proof()}).encode())


# CO-47
async def proof_with_padding(home):
    await _first_message(home, lambda peer: json.dumps({"proof": peer.proof() + "="}))


# CO-47
async def proof_of_other_certificates(home):
    def message(peer):
        answered = fingerprint(peer.sdp)
        return json.dumps({"proof": code(peer.secret, f"peer\n{answered}\n{answered}\n")})
    await _first_message(home, message)


# CO-47
async def a_command_instead_of_the_proof(home):
    await _first_message(home, '{"cmd":"ls"}')


# CO-47
async def nonsense_instead_of_the_proof(home):
    await _first_message(home, "hello")


# CO-47
async def an_empty_message_instead_of_the_proof(home):
    await _first_message(home, "")


# CO-47
async def a_long_message_instead_of_the_proof(home):
    await _first_message(home, "x" * 65_536)


# CO-47
async def silence_instead_of_the_proof(home):
    await home.start()
    tunnel, peer = await _begin(home)
    await peer.meet()
    began = time.monotonic()
    await peer.refused()
    assert 8 < time.monotonic() - began < 16, time.monotonic() - began
    await _spent(home, tunnel, peer)


# CO-47
async def a_channel_opened_before_the_proof(home):
    await home.start()
    tunnel, peer = await _begin(home)
    await peer.meet()
    peer.pc.createDataChannel("mine")
    await peer.refused()
    await _spent(home, tunnel, peer)


async def _opened_at_once(home, label):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    peer.mine = Channel(peer.pc.createDataChannel(label))
    await tunnel.paste(await peer.answer())
    await peer.meet()
    with contextlib.suppress(InvalidStateError):
        # It may have been closed by now.
        peer.control.send(json.dumps({"proof": peer.proof()}))
    # On whichever channel the daemon has it for.
    replies = await peer.control.ended(30) + await peer.mine.ended(30)
    assert [json.loads(reply)["error"] for reply in replies] == ["PROOF_FAILED"], replies
    await _spent(home, tunnel, peer)


# CO-47
async def a_channel_opened_before_anything_else(home):
    await _opened_at_once(home, "mine")


# CO-47
async def a_channel_with_the_label_of_ours(home):
    await _opened_at_once(home, "coop-control")


# CO-47
async def a_certificate_that_is_not_in_the_answer(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    # A machine on the way has exchanged the fingerprint.
    real = fingerprint(peer.sdp)
    other = ":".join("%02X" % (int(byte, 16) ^ 1) for byte in real.split(":"))
    peer.sdp = re.sub(r"a=fingerprint:sha-(256|384|512) \S+\r\n", "", peer.sdp)
    peer.sdp = peer.sdp.replace("a=setup:", f"a=fingerprint:sha-256 {other}\r\na=setup:", 1)
    await tunnel.paste(peer.packed())
    event = await tunnel.event("closed")
    assert event["reason"] == "refused", event
    assert await tunnel.exit() == 1
    assert peer.channels.empty(), "it was not served"
    await peer.close()


# CO-47
async def a_man_in_the_middle(home):
    """He has replaced the answer by his own, and passes on what the real peer says."""
    await home.start()
    tunnel = await home.tunnel()
    real = Peer(tunnel.url)
    await real.describe()
    middle = Peer(tunnel.url)
    await tunnel.paste(await middle.answer())
    await middle.meet()
    middle.control.send(json.dumps({"proof": real.proof()}))
    await middle.refused()
    await real.close()
    await _spent(home, tunnel, middle)


# CO-47
async def names_lose_control_characters(home):
    await home.start()
    tunnel, peer = await connect(home, name="my\x1b[31m pho\nne\u009b\x7f\u202e\x00")
    named = tunnel.connected["peer"]
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", named), named
    assert named.replace("\u202e", "") == "my[31m phone", named
    assert (await home.tunnels())[0]["peer"] == named
    assert "\x1b" not in await home.ok("tunnel", "ls") and "\x1b" not in home.log()
    await peer.close()


# CO-47
async def odd_names(home):
    await home.start()
    for name in [None, "", "x" * 60_000]:
        tunnel, peer = await connect(home, **({} if name is None else {"name": name}))
        assert isinstance(tunnel.connected["peer"], (str, type(None))) and len(tunnel.connected["peer"] or "") < 1000
        await peer.close()
        await tunnel.closed("peer", 0)


# CO-47
async def reply_names_role_and_session(home):
    await home.start()
    for args, expected in [([], ("drive", None)), (["one", "--role", "prompt"], ("prompt", "one"))]:
        tunnel, peer = await connect(home, *args)
        assert (peer.welcome["role"], peer.welcome["session"]) == expected, peer.welcome
        await peer.close()
        await tunnel.closed("peer", 0)
