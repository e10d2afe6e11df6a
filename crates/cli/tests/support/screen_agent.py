"""An agent that paints its screen like Claude Code does: an input box, a spinner, dialogs with numbered options.

What it is told decides what it does:
  say TEXT    answers TEXT
  note TEXT   answers TEXT, which is Markdown, and writes it down as Claude Code does
  foreign TEXT  answers TEXT, and writes down another answer
  linked TEXT answers TEXT, which is written down in a file to which the session file links
  lines N     answers N lines, one every 0.4 s
  ask CMD     asks whether CMD may be run, and says what it was told
  twice CMD   the same, and then whether it may be run again
  choose      asks for one of two colours
  think       says nothing until it is interrupted, and then gives the prompt back
  work        works until it is interrupted
  clock       the same; it does not stop to paint from the moment it is typed
  late TEXT   takes the first Enter for a line break, and answers TEXT
  end         ends with status 3
  trap        asks something as soon as it is typed, before Enter
  /clear      does nothing, at once
  /theme      lets the user choose a theme, or leave that with Escape
"""

import json
import os
import re
import select
import sys
import termios
import time
import tty

ROWS = 40
RULE = "─" * 100
MARKS = "·✢✳✶✻✽"


class Agent:
    def __init__(self):
        self.lines = [" ▐▛███▜▌   Claude Code v2.1.0", ""]
        self.box = ""
        self.keys = b""
        self.dialog = None
        self.mark = None
        self.late = False

    def paint(self):
        if self.dialog:
            bottom = [RULE] + self.dialog
        else:
            spinner = [f"{self.mark} Working… (esc to interrupt)", ""] if self.mark else []
            bottom = spinner + [RULE, "❯ " + self.box, RULE]
        rows = (self.lines + [""] + bottom)[-ROWS:]
        # The cursor is behind what was typed.
        cursor = "" if self.dialog else f"\x1b[{len(rows) - 1};{len(self.box) + 3}H"
        sys.stdout.write("\x1b[?2026h\x1b[H\x1b[2J" + "\r\n".join(rows) + cursor + "\x1b[?2026l")
        sys.stdout.flush()

    def read(self, limit):
        """Waits for keys; true when there are some."""
        ready, _, _ = select.select([0], [], [], limit)
        if ready:
            data = os.read(0, 4096)
            if not data:
                sys.exit(0)
            self.keys += data
        return bool(self.keys)

    def key(self, limit=None):
        """The next key: a character, `esc`, or `paste:TEXT`."""
        if not self.keys and not self.read(limit):
            return None
        if self.keys.startswith(b"\x1b[200~"):
            while b"\x1b[201~" not in self.keys:
                self.read(None)
            text, self.keys = self.keys[6:].split(b"\x1b[201~", 1)
            return "paste:" + text.decode()
        if self.keys[:1] == b"\x1b":
            if self.keys[1:2] in (b"[", b"O"):
                self.keys = self.keys[3:]
                return "other"
            self.keys = self.keys[1:]
            return "esc"
        text = self.keys.decode(errors="ignore")[:1] or "?"
        self.keys = self.keys[len(text.encode()):]
        return text

    def answer(self, text):
        self.lines += ["", "● " + text]

    def note(self, name, prompt, answer):
        """Writes an exchange to a session file, and answers it on the screen, without the marks of Markdown."""
        root = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.environ["HOME"], ".claude")
        project = os.path.join(root, "projects", re.sub("[^A-Za-z0-9]", "-", os.getcwd()))
        os.makedirs(project, exist_ok=True)
        lines = [{"type": "user", "message": {"role": "user", "content": prompt}}]
        blocks = [{"type": "text", "text": answer}]
        lines += [{"type": "assistant", "message": {"role": "assistant", "content": blocks}}]
        with open(os.path.join(project, name), "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return project

    def work(self, seconds):
        """Works for a while; false when it is interrupted."""
        end = time.monotonic() + seconds
        step = 0
        while time.monotonic() < end:
            self.mark = MARKS[step % len(MARKS)]
            step += 1
            self.paint()
            if self.key(0.1) == "esc":
                self.mark = None
                return False
        self.mark = None
        return True

    def choice(self, rows, keys):
        self.dialog = rows
        self.paint()
        while True:
            key = self.key()
            # Enter chooses the marked one.
            key = "1" if key == "\r" else key
            if key in keys:
                self.dialog = None
                return key

    def ask(self, command):
        """Asks whether a command may be run; what it was told."""
        self.lines += ["", f"● Bash({command})", "  ⎿  Waiting…"]
        rows = [" Bash command", "", f"   {command}", "", " Do you want to proceed?", " ❯ 1. Yes"]
        rows += ["   2. Yes, and don't ask again for this", "   3. No", "", " Esc to cancel"]
        key = self.choice(rows, ("1", "2", "esc"))
        self.work(0.3)
        said = {"1": "ran once", "2": "runs always", "esc": "was denied"}[key]
        self.lines[-1] = "  ⎿  " + said
        return said

    def do(self, text):
        word, _, rest = text.partition(" ")
        self.lines += ["❯ " + text]
        if word == "/theme":
            rows = ["   Theme", "", "   ❯ Dark mode", "     Light mode", "", "   Enter to select · Esc to cancel"]
            self.choice(rows, ("1", "esc"))
        if word.startswith("/"):
            return
        if word == "end":
            sys.exit(3)
        if not self.work(600 if word == "think" else 0.3):
            # No answer yet: the prompt is given back.
            self.lines.pop()
            self.box = text
            return
        if word == "lines":
            for n in range(int(rest)):
                self.lines += [("● " if n == 0 else "  ") + f"line {n + 1}"]
                if not self.work(0.4):
                    self.lines += ["  ⎿  Interrupted"]
                    return
        elif word in ("note", "foreign", "linked"):
            written = "the secrets of another file" if word == "foreign" else rest
            project = self.note("linked.txt" if word == "linked" else "session.jsonl", text, written)
            if word == "linked":
                os.symlink("linked.txt", os.path.join(project, "session.jsonl"))
            self.answer(rest.replace("**", "").replace("`", ""))
        elif word in ("ask", "twice"):
            said = self.ask(rest)
            if word == "twice":
                said += ", and then " + self.ask(rest + " again")
            self.answer(f"it {said}")
        elif word == "choose":
            rows = [" Colour", "", " Which one?", "", " ❯ 1. Red", "   2. Green"]
            key = self.choice(rows, ("1", "2", "esc"))
            self.work(0.3)
            self.answer("chosen: " + {"1": "Red", "2": "Green", "esc": "none"}[key])
        elif word in ("work", "clock"):
            self.answer("begun")
            self.answer("done" if self.work(600) else "interrupted")
        else:
            self.answer(rest)

    def run(self):
        sys.stdout.write("\x1b[?2004h")
        while True:
            self.paint()
            key = self.key(0.03 if self.box == "clock" else None)
            if key is None:
                continue
            if key == "\r" and self.box.startswith("late ") and not self.late:
                self.late = True
            elif key == "\r":
                text, self.box = self.box, ""
                self.late = False
                if text.strip():
                    self.do(text)
            elif key == "\x03":
                if not self.box:
                    sys.exit(0)
                self.box = ""
            elif key.startswith("paste:"):
                self.box += key[6:]
                if self.box == "trap":
                    self.answer("it " + self.ask("rm -r ."))
            elif key not in ("esc", "other"):
                self.box += key


before = termios.tcgetattr(0)
tty.setraw(0)
try:
    Agent().run()
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
