#!/usr/bin/env python3
"""Compares the terminal model with tmux, on recordings.

usage: compare-terminals.py RECORDINGS [CUTS]

For every recording without a resize, at CUTS places (default 1, the end): tmux shows the recorded bytes,
and the bytes of our snapshot; text and cursor of both are compared with the model's.
Needs `cargo build --release -p swb-vt --example vt` first; VT names that program when it is elsewhere.
"""

import base64
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

VT = os.environ.get("VT", "target/release/examples/vt")
SOCKETS = (f"swb-compare-{os.getpid()}-{n}" for n in itertools.count())


def ours(verb, cols, rows, data):
    command = [VT, verb, str(cols), str(rows)]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def parse(text, rows):
    lines = text.split("\n")
    y, x = map(int, lines[0].split())
    shown = [line.rstrip() for line in lines[1 : rows + 1]]
    return (y, x), shown + [""] * (rows - len(shown))


def tmux(socket, *args):
    command = ["tmux", "-L", socket, "-f", "/dev/null", *args]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def show(cols, rows, data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        # A server of its own each time: the last one may still be on its way out.
        socket = next(SOCKETS)
        script = f"stty raw -echo; cat {file.name}; exec sleep 60"
        size = ["-x", str(cols), "-y", str(rows)]
        tmux(socket, "start-server", ";", "set", "-g", "status", "off", ";", "new-session", "-d", *size, script)
        last, same = None, 0
        for _ in range(200):
            time.sleep(0.03)
            cursor = tmux(socket, "display-message", "-p", "#{cursor_y} #{cursor_x}").strip()
            now = f"{cursor}\n{tmux(socket, 'capture-pane', '-p')}"
            same = same + 1 if cursor and now == last else 0
            last = now
            if same >= 3:
                break
        tmux(socket, "kill-server")
        (y, x), shown = parse(last, rows)
        # tmux counts a column more while a line waits to be wrapped.
        return (y, min(x, cols - 1)), shown


def main():
    root = pathlib.Path(sys.argv[1])
    cuts = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    score = {"bytes": [0, 0], "snapshot": [0, 0]}
    for stream in sorted(root.glob("*/*/stream.jsonl")):
        entries = [json.loads(line) for line in stream.read_text().splitlines()]
        if any(entry["d"] == "r" for entry in entries):
            continue
        data = b"".join(base64.b64decode(entry["b64"]) for entry in entries if entry["d"] == "o")
        expected = json.loads((stream.parent / "expected.json").read_text())
        cols, rows = expected["cols"], expected["rows"]
        for cut in range(1, cuts + 1):
            part = data[: len(data) * cut // cuts]
            want = parse(ours("show", cols, rows, part).decode(), rows)
            for kind, fed in (("bytes", part), ("snapshot", ours("snapshot", cols, rows, part))):
                got = show(cols, rows, fed)
                score[kind][1] += 1
                if got == want:
                    score[kind][0] += 1
                    continue
                where = f"{stream.parent.relative_to(root)} at {len(part)} ({kind})"
                if got[0] != want[0]:
                    print(f"{where}: cursor {got[0]}, ours {want[0]}")
                for y, (theirs, mine) in enumerate(zip(got[1], want[1])):
                    if theirs != mine:
                        print(f"{where}: row {y}\n  tmux {theirs!r}\n  ours {mine!r}")
    for kind, (same, all_) in score.items():
        print(f"{kind}: {same} of {all_} screens the same")


if __name__ == "__main__":
    main()
