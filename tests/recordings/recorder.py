"""Records a session of a real program in a PTY, with what a reader of the session should find in it.

The format is that of the recordings in crates/turns/tests/recordings: `stream.jsonl` has every byte with
its time, `expected.json` the turns. The truth comes from the scenario (what is typed, what the answer is
known to be) and from an independent screen model (pyte), never from the detector.
"""

import base64
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pyte

KEY_PAUSE = 0.012
QUIET = 1.0
# What pyte would print instead of ignoring it: strings other than OSC, and CSI with other private marks.
IGNORED = re.compile(rb"\x1b[P_^X][^\x1b]*\x1b\\|\x1b\[[<>=][0-9;:]*[a-zA-Z]|\x1b\[[0-9;?]*\$[a-z]|\x1b\[[0-9;]* q|\x1b\[\d+:[0-9:;]*m|\x1b\[\?[0-9;]*m")


class Screen(pyte.HistoryScreen):
    """pyte takes private sequences that end like colours for colours."""

    def select_graphic_rendition(self, *attrs, private=False):
        if not private:
            super().select_graphic_rendition(*attrs)


class Session:
    """A program in a PTY, with its screen and everything that was recorded."""

    def __init__(self, argv, cols=100, rows=30, env=None, cwd=None):
        self.argv, self.cols, self.rows = argv, cols, rows
        self.started = time.monotonic()
        self.events, self.offset, self.last = [], 0, 0.0
        self.screen = Screen(cols, rows, history=10000)
        self.stream, self.held = pyte.ByteStream(self.screen), b""
        self.modes = {}
        self.resizes = []
        self.watch, self.shown = [], set()
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(cwd or "/home/user/project")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            base = {"HOME": "/home/user", "USER": "user", "LOGNAME": "user", "TERM": "xterm-256color",
                    "COLORTERM": "truecolor", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "SHELL": "/bin/bash", "PWD": cwd or "/home/user/project"}
            base.update(env or {})
            os.execvpe(argv[0], argv, base)
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def now(self):
        return round(time.monotonic() - self.started, 4)

    def pump(self, seconds):
        """Reads output for that long."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if not select.select([self.fd], [], [], max(0, left))[0]:
                return
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self._output(data)

    def _output(self, data):
        self.last = self.now()
        self.events.append({"t": self.last, "d": "o", "b64": base64.b64encode(data).decode()})
        self.offset += len(data)
        for mode, on in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", data):
            for number in mode.split(b";"):
                self.modes[int(number)] = on == b"h"
        self._answer(data)
        data = self.held + data
        cut = data.rfind(b"\x1b")
        # An unfinished sequence waits for its end.
        self.held = data[cut:] if cut >= 0 and len(data) - cut < 12 and not re.match(
            rb"\x1b(?:\[[0-9;:?<>=$ ]*[a-zA-Z]|[^\[\]P_^X]|\].*(?:\x07|\x1b\\))", data[cut:], re.S) else b""
        feed = IGNORED.sub(b"", data[:len(data) - len(self.held)])
        # Watched words may be shown and scrolled away within one read.
        for part in re.split(rb"(?<=\n)|(?<=\x1b\[\?2026l)", feed):
            self.stream.feed(part)
        if self.watch:
            text = self.display()
            history = "\n".join(self._row(line) for line in list(self.screen.history.top)[-200:])
            squeezed = re.sub(r"\s+", "", text + history)
            self.shown.update(word for word in self.watch if word in squeezed)

    def _answer(self, data):
        """What a terminal answers to the queries of programs."""
        answers = []
        for query in re.findall(rb"\x1b\[6n|\x1b\[c|\x1b\[0c|\x1b\[>0?c|\x1b\[>0?q|\x1b\[\?(?:2026|2004|1004)\$p|\x1b\]1[01];\?(?:\x07|\x1b\\)|\x1b\[5n", data):
            if query == b"\x1b[6n":
                answers.append(b"\x1b[%d;%dR" % (self.screen.cursor.y + 1, self.screen.cursor.x + 1))
            elif query == b"\x1b[5n":
                answers.append(b"\x1b[0n")
            elif query.endswith(b"$p"):
                answers.append(b"\x1b[?%s;2$y" % query[3:-2])
            elif query.startswith(b"\x1b[>") and query.endswith(b"q"):
                answers.append(b"\x1bP>|XTerm(388)\x1b\\")
            elif query.startswith(b"\x1b[>"):
                answers.append(b"\x1b[>41;388;0c")
            elif query.startswith(b"\x1b]"):
                value = b"ffff/ffff/ffff" if query[2:4] == b"10" else b"0000/0000/0000"
                answers.append(b"\x1b]%s;rgb:%s\x1b\\" % (query[2:4], value))
            else:
                answers.append(b"\x1b[?62;22c")
        for answer in answers:
            self._input(answer, "term")

    def _input(self, data, source):
        self.events.append({"t": self.now(), "d": "i", "b64": base64.b64encode(data).decode(), "src": source})
        os.write(self.fd, data)

    def keys(self, data, pause=KEY_PAUSE):
        """Types key by key; an escape sequence is one key."""
        for key in re.findall(r"\x1b\[[0-9;]*[A-Za-z~]|\x1b|.", data, re.S):
            self._input(key.encode(), "user")
            self.pump(pause)

    def paste(self, text):
        """As a terminal does: bracketed where the program has turned that on."""
        text = text.replace("\n", "\r")
        if self.modes.get(2004):
            text = "\x1b[200~" + text + "\x1b[201~"
        self._input(text.encode(), "user")
        self.pump(0.3)

    def write(self, text):
        self._input(text.encode(), "user")

    def resize(self, cols, rows):
        self.cols, self.rows = cols, rows
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.events.append({"t": self.now(), "d": "r", "cols": cols, "rows": rows})
        self.resizes.append({"t": self.now(), "offset": self.offset, "cols": cols, "rows": rows})
        self.screen.resize(rows, cols)

    def line(self):
        """The row with the cursor."""
        return self._row(self.screen.buffer[self.screen.cursor.y])

    def display(self):
        return "\n".join(self._row(self.screen.buffer[y]) for y in range(self.screen.lines))

    def _row(self, cells):
        # The second cell of a wide character is empty.
        return "".join(cells[x].data for x in range(self.screen.columns)).rstrip()

    def settle(self, done, seconds=60, quiet=QUIET):
        """Waits until `done()` holds and the program has been silent for a second."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(0.05)
            if self.now() - self.last >= quiet and done():
                return True
        raise SystemExit("%s: not ready; the screen:\n%s" % (self.argv, self.display()))

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def write(folder, session, agent, version, argv, scenario, ready0, turns, size):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "stream.jsonl"), "w") as file:
        for event in session.events:
            file.write(json.dumps(event) + "\n")
    expected = {"format": 1, "agent": agent, "version": version, "scenario": scenario, "argv": argv,
                "term": "xterm-256color", "kitty_keyboard": False, "ready0": ready0, "cols": size[0],
                "rows": size[1], "resizes": session.resizes, "output_bytes": session.offset, "cut": False,
                "turns": turns}
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1, ensure_ascii=False)
        file.write("\n")
