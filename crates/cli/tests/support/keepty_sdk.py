"""Uses the published keepty SDK as its users do. One argument names the check to run.

It expects HOME and XDG_RUNTIME_DIR of a throw-away installation, and `keepty` on the PATH.
"""

import os
import signal
import sys
import time

import keepty
from keepty import Frame, MsgKind, Role, ScreenReader, Session, SessionExited

# Far more than a busy machine needs.
LIMIT = 30.0


def run(session_id, script=None):
    """Starts a session that runs a script in a shell; the SDK passes only a single word as command."""
    if script is None:
        keepty.start(session_id, command="/bin/sh")
        return
    path = os.path.join(os.environ["HOME"], f"{session_id}.sh")
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)
    keepty.start(session_id, command=path)


def read_to_exit(session):
    """Everything until the session's end, and its exit code."""
    seen = b""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        for frame in session._read_frames(0.2):
            if frame.kind == MsgKind.OUTPUT:
                seen += frame.payload
            elif frame.kind == MsgKind.EXIT:
                return seen, keepty.client.decode_exit(frame.payload)
    raise TimeoutError(f"no end, but {seen!r}")


def expect_exit(session, code):
    try:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            session.read_output(timeout=1.0)
    except SessionExited as exited:
        assert exited.exit_code == code, exited
    else:
        raise TimeoutError("no end")


def raises(kind, call, *args, **keywords):
    try:
        call(*args, **keywords)
    except kind as error:
        return error
    raise AssertionError(f"{call} did not raise {kind}")


def wait_for(what, fact):
    deadline = time.monotonic() + LIMIT
    while not fact():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def start_connect_and_type():
    run("s")
    assert os.path.exists(keepty.socket_path("s"))
    with Session.connect("s") as session:
        assert session.role == Role.WRITER
        assert session.pty_pid == 0, session
        session.send_keys(b"echo $((6 * 7))\n")
        assert "42" in session.read_until("42", timeout=LIMIT)
        session.send_keys(b"printf '\\303\\244'\n")
        session.read_until("ä", timeout=LIMIT)
    # It goes on, and a second visit finds it where it was.
    with Session.connect("s") as session:
        assert session.pty_pid > 0
        os.kill(session.pty_pid, 0)
        assert "42" in session.read_until("42", timeout=LIMIT), "the old output comes first"
        session.send_keys(b"echo again\n")
        session.read_until("\nagain", timeout=LIMIT)


def the_first_output_is_not_missed():
    for n in range(10):
        run(f"s{n}", "seq 1 100; exit 3")
        with Session.connect(f"s{n}") as session:
            seen, code = read_to_exit(session)
        assert seen == b"".join(b"%d\r\n" % i for i in range(1, 101)), seen
        assert code == 3, code


def start_reports_what_is_wrong():
    run("s")
    error = raises(RuntimeError, run, "s")
    assert "already running" in str(error), error
    raises(RuntimeError, keepty.start, "a/b", command="cat")
    raises(RuntimeError, keepty.start, "t", command="cat", working_dir="/no/such/place")
    raises(FileNotFoundError, Session.connect, "none")


def shell_and_directory():
    directory = os.path.realpath(os.environ["HOME"])
    keepty.start("s", working_dir=directory)
    with Session.connect("s") as session:
        session.send_keys(b"echo [$TERM] [$0]; pwd\n")
        seen = session.read_until(f"\n{directory}", timeout=LIMIT)
        assert "[xterm-256color] [/bin/sh]" in seen, seen


def resize():
    run("s", "stty -echo; while read x; do stty size; done")
    with Session.connect("s", cols=90, rows=20) as session:
        session.send_keys(b"\n")
        session.read_until("20 90\r\n", timeout=LIMIT)
        session.resize(100, 30)
        seen = []
        wait_for("the ResizeAck", lambda: seen.extend(f.kind for f in session._read_frames(0.1)) or MsgKind.RESIZE_ACK in seen)
        session.send_keys(b"\n")
        session.read_until("30 100\r\n", timeout=LIMIT)
        with Session.connect("s", role=Role.MONITOR) as monitor:
            assert (monitor._cols, monitor._rows) == (100, 30)
            raises(PermissionError, monitor.resize, 1, 1)


def list_sessions():
    assert keepty.list_sessions() == []
    names = [f"s{n:02}" for n in range(12)]
    for name in reversed(names):
        keepty.start(name, command="cat")
    for _ in range(5):
        assert keepty.list_sessions() == [{"id": name, "alive": True} for name in names]
    # Looking that often has started nothing and used nothing up.
    with Session.connect("s00") as session:
        assert session.pty_pid == 0
    keepty.stop("s05")
    names.remove("s05")
    wait_for("s05 to go", lambda: [s["id"] for s in keepty.list_sessions()] == names)


def monitor_and_watcher_look_on():
    run("s", "stty raw -echo; printf ready; cat")
    writer = Session.connect("s")
    writer.read_until("ready", timeout=LIMIT)
    monitor = Session.connect("s", role=Role.MONITOR)
    watcher = Session.connect("s", role=Role.WATCHER)
    assert monitor.pty_pid == watcher.pty_pid > 0
    assert monitor.read_until("ready", timeout=LIMIT) == "ready"
    for other in (monitor, watcher):
        raises(PermissionError, other.send_keys, b"no")
        # A client that does not stop itself is stopped by the session.
        Frame(MsgKind.INPUT, b"no").write_to(other._sock)
    assert watcher.read_output(timeout=0.3) == b"", "no old output"
    writer.send_keys(b"yes")
    for session in (writer, monitor, watcher):
        assert session.read_until("yes", timeout=LIMIT) == "yes"
    # A second Writer takes over.
    second = Session.connect("s")
    assert second.read_until("readyyes", timeout=LIMIT) == "readyyes"
    writer.send_keys(b"old")
    second.send_keys(b"new")
    for session in (writer, monitor, watcher, second):
        assert session.read_until("new", timeout=LIMIT) == "new"


def exit_codes():
    for n, (line, code) in enumerate([("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]):
        run(f"s{n}", f"read x; {line}")
        with Session.connect(f"s{n}") as session, Session.connect(f"s{n}", role=Role.MONITOR) as monitor:
            session.send_keys(b"\n")
            expect_exit(session, code)
            expect_exit(monitor, code)
        wait_for("its socket to go", lambda: not os.path.exists(keepty.socket_path(f"s{n}")))
    keepty.start("missing", command="/no/such/program")
    with Session.connect("missing") as session:
        expect_exit(session, 127)


def stop():
    keepty.start("a", command="cat")
    with Session.connect("a") as session:
        keepty.stop("a")
        expect_exit(session, 128 + signal.SIGTERM)
    # Over the socket alone, as the SDK does it where there is no program.
    path = os.environ["PATH"]
    keepty.start("b", command="cat")
    session = Session.connect("b")
    os.environ["PATH"] = "/nowhere"
    keepty.stop("b")
    keepty.stop("never there")
    os.environ["PATH"] = path
    expect_exit(session, 128 + signal.SIGTERM)
    keepty.start("c", command="cat")
    with Session.connect("c") as session:
        session.shutdown()
        expect_exit(session, 128 + signal.SIGTERM)
    keepty.start("d", command="cat")
    keepty.stop("d")
    keepty.stop("never there")
    wait_for("all to go", lambda: keepty.list_sessions() == [])


def a_mebibyte_of_old_output():
    run("s", "seq 1000000 1300000; printf end; cat")
    with Session.connect("s") as session:
        session.read_until("end", timeout=LIMIT)
    with Session.connect("s", role=Role.MONITOR) as monitor:
        frame = Frame.read_from(monitor._sock)
        assert frame.kind == MsgKind.OUTPUT
        assert len(frame.payload) == keepty.protocol.MAX_PAYLOAD_SIZE, len(frame.payload)
        assert frame.payload.endswith(b"1299999\r\n1300000\r\nend")


def screen():
    run("s", "stty -echo; printf '\\033[2J\\033[3;5Hhere'; while read x; do printf '\\033[1;1H%s' \"$x\"; done")
    with Session.connect("s", cols=60, rows=12) as writer:
        writer.read_until("here", timeout=LIMIT)
        with ScreenReader.connect("s") as reader:
            assert reader.size == (12, 60), reader.size
            assert reader.row(2) == "    here".ljust(60), reader.contents()
            assert reader.cursor == (2, 8), reader.cursor
            writer.send_keys(b"top left\n")
            assert reader.poll_until("top left", timeout=LIMIT), reader.contents()
            assert reader.row(0).startswith("top left") and "here" in reader.row(2)
    with ScreenReader.connect("s", role=Role.WRITER, cols=60, rows=12) as reader:
        assert "here" in reader.contents()
        reader.send_keys(b"interactive\n")
        assert reader.poll_until("interactive", timeout=LIMIT), reader.contents()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
