"""Flow: what a peer has not acknowledged is bounded, and one that falls behind gets a right screen."""

import pyte

from support import WINDOW, connect

# Less than the ring of a terminal keeps, so that a slow machine drops nothing.
BATCH = 700_000


def _shown(data, cols=80, rows=24):
    screen = pyte.Screen(cols, rows)
    pyte.ByteStream(screen).feed(data)
    return [line.rstrip() for line in screen.display]


async def _same_screen(home, name, data):
    await home.ok("wait", name, "--stable", "500")
    expected = [line.rstrip() for line in await home.screen(name)]
    shown = _shown(data)
    expected += [""] * (len(shown) - len(expected))
    assert shown == expected, f"shown: {shown}\nexpected: {expected}"


# CO-47
async def a_peer_that_does_not_acknowledge_gets_one_mebibyte(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach("one", acknowledge=False, cols=80, rows=24)
    other = await peer.attach("one", cmd="shell")
    terminal.type(b"stty -echo; f() { head -c %d /dev/zero | tr '\\0' x; echo $((40+$1))end; }; f 1\r" % BATCH)
    await terminal.read_until(b"41end")
    assert terminal.handled > BATCH
    terminal.type(b"f 2\r")
    # Nearly all of it comes, and never more.
    while terminal.handled < WINDOW - 65_536:
        await terminal.step()
    await home.ok("wait", "one", "--text", "42end")
    await terminal.quiet(2)
    assert terminal.handled <= WINDOW, terminal.handled
    # Other channels are not held up.
    other.type(b"echo $((50+2))y\r")
    await other.read_until(b"52y")
    assert (await peer.ask({"cmd": "ls"}))["ok"] is True
    # A part of it is acknowledged: so much more may come.
    before = terminal.handled
    terminal.ack(200_000)
    await terminal.quiet(2)
    assert before < terminal.handled <= WINDOW + 200_000, (before, terminal.handled)
    # An older acknowledgement takes nothing back.
    terminal.ack(100)
    terminal.ack(terminal.handled)
    await terminal.read_until(b"42end")
    assert 2 * BATCH < terminal.handled < 2 * BATCH + 4096 and terminal.controls == [], terminal.controls
    await peer.close()


# CO-47
async def acknowledging_too_much_gains_nothing(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach("one", acknowledge=False)
    for count in [2**63, 2**64 - 1, 2**70, 10**30]:
        terminal.control(cmd="ack", bytes=count)
    terminal.type(b"echo $((40+2))x\r")
    await terminal.read_until(b"42x")
    await peer.close()


async def _overtaken(home, prepare):
    """Falls behind, and draws what follows on a fresh terminal."""
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach("one", acknowledge=False, cols=80, rows=24)
    terminal.type(b"stty -echo; PS1='$ '; " + prepare + b" seq -f 'line %.0f of many' 1 400000; "
                  b"printf '\\033[5;10H\\033[1;31mred\\033[0m \\342\\234\\223 \\033[10;1H'; echo $((40+2))end\r")
    await home.ok("wait", "one", "--text", "42end", seconds=180)
    await terminal.quiet(3)
    assert terminal.handled <= WINDOW, terminal.handled
    terminal.acknowledge = True
    terminal.ack()

    async def draw(text):
        while text not in terminal.fresh:
            await terminal.step()
        await terminal.quiet(1)
        await _same_screen(home, "one", terminal.fresh)
    await draw(b"42end")
    lagged = [control for control in terminal.controls if control.get("event") == "lagged"]
    assert lagged and all(isinstance(control["dropped"], int) and control["dropped"] > 0 for control in lagged), lagged
    # Live output goes on where the picture ended.
    terminal.type(b"echo live-$((60+2))\r")
    await draw(b"live-62")
    await peer.close()


# CO-47, CO-65, CO-66
async def a_peer_that_is_overtaken_gets_the_screen(home):
    await _overtaken(home, b"")


# CO-47, CO-65, CO-66
async def a_peer_that_is_overtaken_gets_the_alternate_screen(home):
    await _overtaken(home, b"printf '\\033[?1049h';")


# CO-47
async def a_peer_that_acknowledges_misses_nothing(home):
    await home.start()
    _, peer = await connect(home)
    terminal = await peer.attach("one", cols=80, rows=24)
    terminal.type(b"stty -echo; PS1=; echo $((40+2))go\r")
    await terminal.read_until(b"42go")
    for turn in range(4):
        first = turn * 70_000 + 1
        terminal.type(b"seq %d %d; echo end-$((%d+40))\r" % (first, first + 69_999, turn))
        output = await terminal.read_until(b"end-%d" % (turn + 40))
        lines = [line for line in output.replace(b"\r", b"").split(b"\n") if line.isdigit()]
        assert lines == [b"%d" % number for number in range(first, first + 70_000)], "every line, once, in order"
    assert terminal.controls == [], terminal.controls
    await peer.close()
