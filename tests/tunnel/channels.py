"""Channels: commands and their replies, terminals, what is counted and what is not allowed."""

import asyncio
import json
import os

from support import Closed, Coop, connect, control_frame, frame, until


# CO-47, CO-15, CO-31
async def commands_are_answered_in_order(home):
    await home.start("one", "two")
    _, peer = await connect(home)
    bad = ["nope", "[]", "null", "{}", '{"cmd":7}', '{"cmd":"nope"}', '{"cmd":"attach"}', '{"cmd":"attach","session":5}']
    for text in bad:
        reply = await peer.ask(text)
        assert (reply["ok"], reply["error"]) == (False, "INVALID_COMMAND") and reply["message"], (text, reply)
    for message, error in [
        ({"cmd": "attach", "session": "nope"}, "SESSION_NOT_FOUND"),
        ({"cmd": "shell", "session": "nope"}, "SESSION_NOT_FOUND"),
        ({"cmd": "kill", "session": "nope"}, "SESSION_NOT_FOUND"),
        ({"cmd": "attach", "session": "one", "pty": 7}, "PTY_NOT_FOUND"),
        ({"cmd": "shutdown"}, "FORBIDDEN"),
        ({"cmd": "serve"}, "FORBIDDEN"),
        ({"cmd": "tunnel", "session": "one"}, "FORBIDDEN"),
        ({"cmd": "tunnel"}, "FORBIDDEN"),
    ]:
        reply = await peer.ask(message)
        assert (reply["ok"], reply["error"]) == (False, error), (message, reply)
    # A binary message is no command; it ends nothing.
    reply = await peer.ask(b'{"cmd":"ls"}')
    assert reply["ok"] is False, reply
    names = {item["name"] for item in (await peer.ask({"cmd": "ls"}))["sessions"]}
    assert names == {"one", "two"}, names
    # Many at once, replies in order.
    expected = []
    for turn in range(200):
        peer.control.send(json.dumps({"cmd": "attach", "session": f"unknown-{turn}"}))
        peer.control.send('{"cmd":"ls"}')
        peer.control.send('{"cmd":"shutdown"}')
        expected += [f"unknown-{turn}", None, "FORBIDDEN"]
    for want in expected:
        reply = json.loads(await peer.control.message())
        if want is None:
            assert reply["ok"] is True and "sessions" in reply, reply
        else:
            assert want in reply["message"] + reply["error"], (want, reply)
    await peer.close()


# CO-47, CO-19
async def sessions_are_created_and_killed(home):
    await home.start()
    _, peer = await connect(home)
    workspace = home.dir + "/work"
    os.mkdir(workspace)
    coopfile = '[agent]\ncommand = "sh"\n'
    reply = await peer.ask({"cmd": "create", "name": "made", "workspace": workspace, "coopfile": coopfile})
    assert reply["ok"] is True and reply["session"] == "made" and isinstance(reply["pid"], int), reply
    terminal = await peer.attach("made")
    reply = await peer.ask({"cmd": "kill", "session": "made"})
    assert reply["ok"] is True, reply
    await terminal.channel.ended()
    names = {item["name"] for item in (await peer.ask({"cmd": "ls"}))["sessions"]}
    assert names == {"one"}, names
    reply = await peer.ask({"cmd": "kill", "all": True})
    assert reply["ok"] is True, reply
    assert (await peer.ask({"cmd": "ls"}))["sessions"] == []


# CO-47, CO-52, CO-56, CO-57, CO-58
async def terminals_have_channels_of_their_own(home):
    await home.start()
    _, peer = await connect(home)
    first = await peer.attach("one", cols=91, rows=31)
    assert first.channel.label == "coop-pty-one-0", first.channel.label
    assert first.channel.channel.ordered
    first.type(b"stty size; echo $((40+2))x\r")
    before = await first.read_until(b"42x")
    assert b"31 91" in before, before
    first.control(cmd="resize", cols=77, rows=22)
    first.type(b"stty size; echo $((40+3))x\r")
    assert b"22 77" in await first.read_until(b"43x")
    shell = await peer.attach("one", cmd="shell")
    assert shell.channel.label == "coop-pty-one-1", shell.channel.label
    shell.type(b"echo $((50+2))y\r")
    await shell.read_until(b"52y")
    assert b"52y" not in first.data
    # The same terminal twice.
    again = await peer.attach("one")
    assert again.channel.label == "coop-pty-one-0", again.channel.label
    first.type(b"echo $((60+2))z\r")
    await first.read_until(b"62z")
    await again.read_until(b"62z")
    by_index = await peer.attach("one", pty=1)
    assert by_index.channel.label == "coop-pty-one-1", by_index.channel.label
    await peer.close()


# CO-47, CO-55
async def unknown_frames_are_ignored(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach()
    for message in [frame(7, b"x"), frame(255, b""), frame(1, b"no JSON"), frame(1, b"[]"), frame(1, b""),
                    control_frame({"cmd": "nope"}), control_frame({"cmd": "resize", "cols": -1, "rows": "x"}),
                    control_frame({"cmd": "ack"}), control_frame({"cmd": "ack", "bytes": -5}), frame(0, b"")]:
        terminal.channel.send(message)
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    await peer.close()


async def _malformed(home, message):
    await home.start()
    _, peer = await connect(home)
    terminal, other = await peer.attach(), await peer.attach("one", cmd="shell")
    terminal.channel.send(message)
    await terminal.channel.ended()
    # That channel only.
    other.type(b"echo $((40+2))x\r")
    await other.read_until(b"42x")
    assert await peer.web_clients() == 1
    again = await peer.attach()
    again.type(b"echo $((50+2))y\r")
    await again.read_until(b"52y")
    await peer.close()


# CO-47, CO-53
async def a_frame_shorter_than_it_says(home):
    await _malformed(home, frame(0, b"hello")[:-1])


# CO-47, CO-53
async def a_frame_longer_than_it_says(home):
    await _malformed(home, frame(0, b"hello") + b"x")


# CO-47, CO-53
async def two_frames_in_a_message(home):
    await _malformed(home, frame(0, b"a") + frame(0, b"b"))


# CO-47, CO-53
async def a_frame_of_length_0(home):
    await _malformed(home, b"\0\0\0\0")


# CO-47, CO-53
async def a_frame_without_its_length(home):
    await _malformed(home, b"\0\0")


# CO-47
async def a_text_message_to_a_terminal(home):
    await _malformed(home, "hello")


# CO-47
async def attachments_count_as_web_clients(home):
    await home.start()
    _, peer = await connect(home)
    assert await peer.web_clients() == 0
    terminals = [await peer.attach() for _ in range(2)]
    assert await peer.web_clients() == 2
    coop = await Coop.connect(home)
    item = (await coop.ask({"cmd": "ls"}))["sessions"][0]
    assert (item["web_clients"], item["local_clients"]) == (2, 0), item
    # CO-59
    terminals[0].control(cmd="detach")
    messages = await terminals[0].channel.ended()
    controls = [json.loads(message[5:]) for message in messages if message[4] == 1]
    assert controls[-2:] == [{"ok": True}, {"event": "detached"}], controls
    await until("the client not to be counted", lambda: _counts(peer, 1), 6)
    # CO-60: the peer closes the channel.
    terminals[1].channel.channel.close()
    await until("the client not to be counted", lambda: _counts(peer, 0), 6)
    await peer.close()


async def _counts(peer, count):
    return await peer.web_clients() == count


# CO-61, CO-64
async def the_end_of_a_program_closes_its_channel(home):
    await home.start()
    _, peer = await connect(home)
    shell = await peer.attach("one", cmd="shell")
    shell.type(b"head -c 300000 /dev/zero | tr '\\0' x; exit 7\r")
    try:
        end = await shell.event(lambda control: control.get("event") == "pty_exited")
        assert end == {"event": "pty_exited", "code": 7}, end
        assert shell.data.count(b"x") >= 300_000, "all output came before"
        assert await shell.channel.ended() == []
    except Closed:
        raise AssertionError(f"no pty_exited: {shell.controls}") from None
    await peer.close()


# CO-47
async def a_name_limits_the_tunnel(home):
    await home.start("one", "two")
    _, peer = await connect(home, "one")
    os.mkdir(home.dir + "/work")
    for message, error in [
        ({"cmd": "attach", "session": "two"}, "SESSION_NOT_FOUND"),
        ({"cmd": "shell", "session": "two"}, "SESSION_NOT_FOUND"),
        ({"cmd": "kill", "session": "two"}, "SESSION_NOT_FOUND"),
        ({"cmd": "attach", "session": "nope"}, "SESSION_NOT_FOUND"),
        ({"cmd": "create", "workspace": home.dir + "/work"}, "FORBIDDEN"),
        ({"cmd": "kill", "all": True}, "FORBIDDEN"),
        ({"cmd": "shutdown"}, "FORBIDDEN"),
        ({"cmd": "serve"}, "FORBIDDEN"),
        ({"cmd": "tunnel", "session": "one"}, "FORBIDDEN"),
    ]:
        reply = await peer.ask(message)
        assert (reply["ok"], reply["error"]) == (False, error), (message, reply)
    assert [item["name"] for item in (await peer.ask({"cmd": "ls"}))["sessions"]] == ["one"]
    # Neither do the daemon's other operations reach the other session.
    for message in [{"cmd": "send", "session": "two", "text": "echo leak"}, {"cmd": "screen", "session": "two"},
                    {"cmd": "logs", "session": "two"}, {"cmd": "keys", "session": "two", "keys": ["a"]},
                    {"cmd": "rename", "session": "two", "name": "three"}]:
        reply = await peer.ask(message)
        assert reply["ok"] is False and reply["error"] in ("SESSION_NOT_FOUND", "FORBIDDEN", "INVALID_COMMAND"), (message, reply)
    terminal = await peer.attach("one")
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    await peer.close()


# CO-46
async def dangerous_input_is_withheld(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach()

    async def noticed(data):
        seen = len(terminal.controls)
        terminal.type(data)
        control = await terminal.event(lambda control: control not in terminal.controls[:seen] or True)
        assert control.get("event") != "pty_exited" and control.get("ok") is not False, control
        return control
    for data in [b"\x04", b"\x1c"]:
        control = await noticed(data)
        assert any(isinstance(value, str) and value for key, value in control.items() if key != "event"), control
    for word in [b"exit", b"/exit", b"quit"]:
        await noticed(word + b"\r")
        terminal.type(b"\x15")
        await asyncio.sleep(0.7)
        terminal.type(b"\x03")
    await asyncio.sleep(0.7)
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    # Shells are not filtered.
    shell = await peer.attach("one", cmd="shell")
    shell.type(b"exit\r")
    await shell.event(lambda control: control.get("event") == "pty_exited")
    # Nor are local clients.
    await home.ok("run", "-d", "-n", "local", "bash", "--norc")
    await home.ok("send", "--enter", "local", "exit")
    await home.ok("wait", "local", "--exit")
    await peer.close()


# CO-46
async def repeated_interrupts_are_dropped(home):
    await home.ok("run", "-d", "-n", "one", "bash", "-c", "trap 'echo int-$((n+=1))-' INT; echo ready; while :; do sleep 0.05; done")
    _, peer = await connect(home)
    terminal = await peer.attach()
    await terminal.read_until(b"ready")
    for _ in range(5):
        terminal.type(b"\x03")
    await terminal.read_until(b"int-1-")
    await terminal.quiet(1)
    assert b"int-2-" not in terminal.data, terminal.data
    terminal.type(b"\x03")
    await terminal.read_until(b"int-2-")
    await peer.close()


# CO-47
async def data_behind_a_malformed_frame(home):
    """A paste is under way when its channel is closed."""
    await home.start()
    _, peer = await connect(home)
    terminal, other = await peer.attach(), await peer.attach("one", cmd="shell")
    terminal.channel.send(b"xx")
    for _ in range(40):
        terminal.type(b"y" * 60_000)
    await terminal.channel.ended()
    other.type(b"echo $((40+2))x\r")
    await other.read_until(b"42x")
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    await peer.close()
