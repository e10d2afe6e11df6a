"""The answer: every way in, what is accepted, what is refused, and what that leaves of the offer."""

import asyncio
import json
import os
import re

from support import Peer, code, connect, deflated, pack, request


async def _served(home):
    """Address of a web server."""
    served = await home.json("serve", "--port", "0")
    url = served["url"] if "url" in served else served["urls"][0]
    return re.match(r"https?://[^/]+", url).group(0)


def _malformed(tunnel, sdp):
    """Answers that are none, by what is wrong with them."""
    right = {"version": 1, "tunnel": tunnel, "sdp": sdp}
    packed = pack(right)

    def with_sdp(text):
        return pack({**right, "sdp": text})
    lines = sdp.splitlines(keepends=True)

    def without(start):
        return with_sdp("".join(line for line in lines if not line.startswith(start)))
    return {
        "nothing": "AA",
        "no base64": "!!!!",
        "no deflate": "____________",
        "half of it": packed[:len(packed) // 2],
        "no JSON": deflated(b"hello"),
        "not UTF-8": deflated(b'{"version":1,"tunnel":"\xff\xfe","sdp":""}'),
        "no object": pack([1]),
        "null": pack(None),
        "no version": pack({"tunnel": tunnel, "sdp": sdp}),
        "version 2": pack({**right, "version": 2}),
        "version as text": pack({**right, "version": "1"}),
        "no tunnel": pack({"version": 1, "sdp": sdp}),
        "tunnel is a number": pack({**right, "tunnel": 5}),
        "no sdp": pack({"version": 1, "tunnel": tunnel}),
        "sdp is a list": pack({**right, "sdp": [sdp]}),
        "empty sdp": with_sdp(""),
        "sdp is no SDP": with_sdp("hello\r\nworld\r\n"),
        "half an SDP": with_sdp(sdp[:200]),
        "no media": with_sdp(sdp[:sdp.index("m=application")]),
        "an audio line": with_sdp(sdp.replace("m=application", "m=audio", 1)),
        "two media": with_sdp(sdp + sdp[sdp.index("m=application"):]),
        "no credentials": without("a=ice-"),
        "no user fragment": without("a=ice-ufrag"),
        "no password": without("a=ice-pwd"),
        "no fingerprint": without("a=fingerprint"),
        "sha-1 only": with_sdp(re.sub(r"a=fingerprint:\S+ \S+", "a=fingerprint:sha-1 " + ":".join(["AA"] * 20), sdp)),
        "short fingerprint": with_sdp(re.sub(r"a=fingerprint:sha-256 \S+", "a=fingerprint:sha-256 AB:CD", sdp)),
        "fingerprint with other letters": with_sdp(re.sub(r"(a=fingerprint:sha-256 )\S\S", r"\1ZZ", sdp)),
        "actpass in an answer": with_sdp(re.sub(r"a=setup:\w+", "a=setup:actpass", sdp)),
        "unknown setup": with_sdp(re.sub(r"a=setup:\w+", "a=setup:sideways", sdp)),
        "another mid": with_sdp(re.sub(r"a=mid:\S+", "a=mid:elsewhere", sdp)),
        "bomb": deflated(b'{"version":1,"tunnel":"' + tunnel.encode() + b'","sdp":"' + b"0" * (64 << 20) + b'"}'),
        "64 KiB and a byte": _of_size(right, 65_537),
        "long text": "A" * 300_000,
    }


def _of_size(answer, size):
    """An answer of a size when inflated; its SDP ends with a long attribute."""
    line = "a=x-filling:"
    rest = size - len(json.dumps({**answer, "sdp": answer["sdp"] + line + "\r\n"}))
    packed = {**answer, "sdp": answer["sdp"] + line + "f" * rest + "\r\n"}
    assert len(json.dumps(packed)) == size
    return pack(packed)


# CO-47
async def malformed_lines_leave_the_offer_open(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    for what, answer in _malformed(tunnel.id, peer.sdp).items():
        await tunnel.paste(answer)
        event = await tunnel.event("error")
        assert isinstance(event["message"], str) and event["message"], (what, event)
        assert "\x1b" not in event["message"]
    assert [item["state"] for item in await home.tunnels()] == ["waiting"]
    # The first valid one uses it up.
    await tunnel.paste(peer.packed())
    await peer.prove()
    await tunnel.event("connected")
    await tunnel.paste(peer.packed())
    await tunnel.event("error")
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True, "a late answer disturbs nothing"


# CO-47
async def malformed_arguments_leave_the_offer_open(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    for what, answer in _malformed(tunnel.id, peer.sdp).items():
        done = await home.swb("tunnel", "--answer", "-", stdin=answer + "\n")
        assert done.code == 1 and done.err.strip(), (what, done)
    done = await home.swb("tunnel", "--answer", pack({"version": 1, "tunnel": "unknown-tunnel", "sdp": peer.sdp}))
    assert done.code == 1, done
    await home.ok("tunnel", "--answer", "-", stdin=peer.packed() + "\n")
    done = await home.swb("tunnel", "--answer", peer.packed())
    assert done.code == 1, "the offer is used up"
    await peer.prove()
    await peer.close()
    await tunnel.event("connected")
    await tunnel.closed("peer", 0)
    # An answer is of no use after the tunnel has ended, nor for another.
    assert (await home.swb("tunnel", "--answer", peer.packed())).code == 1
    other = await home.tunnel()
    assert (await home.swb("tunnel", "--answer", peer.packed())).code == 1
    assert [item["tunnel"] for item in await home.tunnels()] == [other.id]


# CO-47
async def web_server_takes_answers(home):
    await home.start()
    web = await _served(home)
    tunnel = await home.tunnel()
    assert tunnel.url.startswith(web + "/connect#"), tunnel.url
    offer, answer = f"{web}/api/tunnel/{tunnel.id}/offer", f"{web}/api/tunnel/{tunnel.id}/answer"
    for_offer, for_answer = code(tunnel.secret, f"offer\n{tunnel.id}\n"), code(tunnel.secret, f"answer\n{tunnel.id}\n")
    # The offer, without its secret, as often as it is asked for.
    without = {key: value for key, value in tunnel.envelope.items() if key != "secret"}
    for _ in range(2):
        status, body = await request("GET", offer, for_offer)
        assert (status, json.loads(body)) == (200, without), (status, body)
    peer = Peer(tunnel.url)
    await peer.describe()
    # Each of these takes longer than the one before: there are few.
    for bearer in [None, for_answer, for_offer[:-1], tunnel.envelope["secret"]]:
        assert (await request("GET", offer, bearer))[0] == 403, bearer
    assert (await request("GET", f"{web}/api/tunnel/unknown-tunnel/offer", for_offer))[0] == 403
    for bearer in [None, for_offer, code(b"x" * 32, f"answer\n{tunnel.id}\n")]:
        assert (await request("POST", answer, bearer, peer.packed()))[0] == 403, bearer
    assert (await request("POST", f"{web}/api/tunnel/unknown-tunnel/answer", for_answer, peer.packed()))[0] == 403
    # Without the code, no client learns what is wrong with an answer.
    assert (await request("POST", answer, "x", "!!!"))[0] == 403
    for what, text in _malformed(tunnel.id, peer.sdp).items():
        status, body = await request("POST", answer, for_answer, text)
        assert status == 400, (what, status, body)
        assert tunnel.envelope["secret"].encode() not in body
    assert (await request("POST", answer, for_answer, ""))[0] == 400
    assert (await request("POST", answer, for_answer, pack({"version": 1, "tunnel": "another-one", "sdp": peer.sdp})))[0] == 400
    assert (await request("GET", offer, for_offer))[0] == 200, "the offer is still open"
    status, body = await request("POST", answer, for_answer, peer.packed())
    assert (status, json.loads(body)) == (200, {"ok": True}), (status, body)
    assert (await request("GET", offer, for_offer))[0] == 403
    assert (await request("POST", answer, for_answer, peer.packed()))[0] == 409
    assert (await request("POST", answer, "x", peer.packed()))[0] == 403
    await peer.prove()
    await tunnel.event("connected")
    assert (await request("POST", answer, for_answer, peer.packed()))[0] == 409
    assert (await request("GET", offer, for_offer))[0] == 403
    await peer.close()
    await tunnel.closed("peer", 0)
    assert (await request("POST", answer, for_answer, peer.packed()))[0] == 403
    assert (await request("GET", offer, for_offer))[0] == 403


# CO-47
async def one_of_many_answers_wins(home):
    await home.start()
    web = await _served(home)
    tunnel = await home.tunnel()
    bearer = code(tunnel.secret, f"answer\n{tunnel.id}\n")
    peers = [Peer(tunnel.url) for _ in range(4)]
    answers = [await peer.answer() for peer in peers]
    statuses = await asyncio.gather(*[
        request("POST", f"{web}/api/tunnel/{tunnel.id}/answer", bearer, answer) for answer in answers])
    assert sorted(status for status, _ in statuses) == [200, 409, 409, 409], statuses
    winner = peers[[status for status, _ in statuses].index(200)]
    await winner.prove()
    for peer in peers:
        await peer.close()


# CO-47
async def an_answer_of_64_kib_is_accepted(home):
    await home.start()
    tunnel = await home.tunnel()
    peer = Peer(tunnel.url)
    await peer.describe()
    await home.ok("tunnel", "--answer", "-", stdin=_of_size({"version": 1, "tunnel": tunnel.id, "sdp": peer.sdp}, 65_536))
    await peer.prove()
    await peer.close()


# CO-47
async def secrets_and_contents_are_not_logged(home):
    os.makedirs(home.dir + "/config/switchboard")
    with open(home.dir + "/config/switchboard/config.toml", "w") as file:
        file.write('[daemon]\nlog_level = "debug"\n')
    await home.start()
    web = await _served(home)
    tunnel, peer = await connect(home, name="phone")
    waiting = await home.tunnel()
    await waiting.paste("rubbish-answer-4711")
    await waiting.event("error")
    await request("POST", f"{web}/api/tunnel/{waiting.id}/answer", "bearer-4711", "body-4711")
    terminal = await peer.attach()
    terminal.type(b"echo typed-$((4700+11))\r")
    await terminal.read_until(b"typed-4711")
    await peer.ask({"cmd": "nope-4711"})
    await peer.ask("not-json-4711")
    await peer.close()
    await tunnel.closed("peer", 0)
    log = home.log()
    assert tunnel.id in log, "the log is where it is looked for, and names tunnels by their ids"
    for text in ["4711", tunnel.envelope["secret"], waiting.envelope["secret"], peer.proof(), peer.proof("host")]:
        assert text not in log, (text, [line for line in log.splitlines() if text in line][:3])
    for sdp in (tunnel.envelope["sdp"], waiting.envelope["sdp"], peer.sdp):
        password = re.search(r"a=ice-pwd:(\S+)", sdp).group(1)
        assert password not in log, [line for line in log.splitlines() if password in line][:3]
