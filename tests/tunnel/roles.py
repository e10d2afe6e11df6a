"""Roles below `drive`: the peer sees everything and types nothing."""

from support import connect


def _forbidden(control):
    return control.get("ok") is False and control.get("error") == "FORBIDDEN" and isinstance(control.get("message"), str)


async def _watches(home, role):
    await home.start()
    await home.type("one", "stty size; echo $((40+2))before")
    await home.ok("wait", "one", "--text", "42before")
    tunnel, peer = await connect(home, "--role", role)
    assert peer.welcome["role"] == role
    size = (await home.json("screen", "one"))
    terminal = await peer.attach("one", cols=33, rows=11)
    terminal.type(b"echo typed-$((40+2))\r")
    assert _forbidden(await terminal.event(lambda control: "ok" in control))
    terminal.control(cmd="resize", cols=44, rows=12)
    assert _forbidden(await terminal.event(lambda control: "ok" in control))
    await home.type("one", "stty size; echo $((50+2))after")
    output = await terminal.read_until(b"52after")
    assert b"11 33" not in output and b"12 44" not in output, output
    now = await home.json("screen", "one")
    assert (now.get("cols"), now.get("rows")) == (size.get("cols"), size.get("rows")), (size, now)
    assert "typed-42" not in "\n".join(await home.screen("one"))
    assert (await home.tunnels())[0]["role"] == role
    # Acknowledging is not typing.
    terminal.ack()
    for message in [{"cmd": "kill", "session": "one"}, {"cmd": "shutdown"}, {"cmd": "shell", "session": "one"},
                    {"cmd": "create", "workspace": home.dir}]:
        reply = await peer.ask(message)
        assert (reply["ok"], reply["error"]) == (False, "FORBIDDEN"), (message, reply)
    await peer.close()


# CO-47
async def watch(home):
    await _watches(home, "watch")


# CO-47
async def prompt(home):
    await _watches(home, "prompt")


# CO-47
async def approve(home):
    await _watches(home, "approve")


# CO-47
async def other_roles_are_refused(home):
    await home.start()
    for role in ["admin", "owner", ""]:
        assert (await home.swb("tunnel", "--json", "--role", role)).code not in (0, None)
