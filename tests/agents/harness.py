"""A throw-away daemon in a temporary home, and the commands given to it."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

# `swb` answers at once; what waits is given a limit of its own, well below this.
COMMAND_SECONDS = 240
DETACH_KEY = b"\x1d"


class Failed(Exception):
    """A check that does not hold."""


def check(condition, text):
    if not condition:
        raise Failed(text)


class Bench:
    """The temporary directories, the environment, and everything that runs in it."""

    def __init__(self, swb, bin_dirs):
        self.swb = swb
        # The path is short because agents put sockets below it, whose names may have 107 bytes.
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="swb-"))
        self.home = self._directory("home")
        runtime, scratch = self._directory("run"), self._directory("t")
        self.env = {"HOME": self.home, "XDG_RUNTIME_DIR": runtime, "TMPDIR": scratch, "USER": "user",
                    "PATH": os.pathsep.join(list(bin_dirs) + [os.environ.get("PATH", os.defpath)]),
                    "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8",
                    "SHELL": "/bin/sh"}

    def _directory(self, name):
        path = os.path.join(self.base, name)
        os.mkdir(path, 0o700)
        return path

    def project(self, name):
        """A directory for an agent to work in."""
        path = os.path.join(self.home, name)
        os.mkdir(path)
        with open(os.path.join(path, "README.md"), "w", encoding="utf-8") as file:
            file.write("# A project\n")
        return path

    def start(self, *arguments, env=None):
        """Starts `swb` and does not wait for it."""
        return subprocess.Popen([self.swb, *arguments], env=dict(self.env, **(env or {})), cwd=self.home,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self, process, seconds=COMMAND_SECONDS):
        """The exit code, output and errors of what `start` has started."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed("%s did not return in %d s" % (" ".join(process.args[1:4]), seconds)) from None
        return process.returncode, out, err.decode("utf-8", "replace").strip()

    def try_run(self, *arguments, env=None):
        code, out, err = self.result(self.start(*arguments, env=env))
        return code, out.decode("utf-8", "replace"), err

    def run(self, *arguments, env=None):
        """The output of `swb ARGUMENTS`, which has to succeed."""
        code, out, err = self.try_run(*arguments, env=env)
        check(code == 0, "swb %s ended with %d: %s" % (" ".join(arguments[:2]), code, err or out.strip()))
        return out

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def session(self, name):
        """What `swb ls` says of a session."""
        found = [s for s in self.json("ls") if s["name"] == name]
        check(found, "swb ls does not show %s" % name)
        return found[0]

    def look_on(self, name, seconds, cols=100, rows=30):
        """Attaches from a terminal of that size, stays for a while and detaches; what was shown."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            os.execve(self.swb, [self.swb, "attach", name], self.env)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        try:
            seen = _read_for(terminal, seconds)
            os.write(terminal, DETACH_KEY)
            seen += _read_for(terminal, 10)
            code = _reap(pid, 10)
        finally:
            os.close(terminal)
        check(code == 0, "swb attach ended with %s after the detach key" % code)
        check(seen, "swb attach showed nothing")
        return seen

    def crash(self):
        """Kills the daemon as a crash would; the pid it had."""
        pid = self.json("status")["daemon"]["pid"]
        os.kill(pid, signal.SIGKILL)
        return pid

    def close(self, keep):
        """Ends everything that was started here and removes the directories."""
        try:
            self.try_run("shutdown", "--kill")
        except (Failed, OSError):
            pass
        for force in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._left():
                try:
                    os.kill(pid, force)
                except OSError:
                    pass
            deadline = time.monotonic() + 5
            while self._left() and time.monotonic() < deadline:
                time.sleep(0.1)
        if not keep:
            shutil.rmtree(self.base, ignore_errors=True)
        return self._left()

    def _left(self):
        """Processes that still run with our home: agents leave helpers behind."""
        mark = ("HOME=%s" % self.home).encode()
        found = []
        for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
            if entry.isdigit():
                try:
                    with open("/proc/%s/environ" % entry, "rb") as file:
                        if mark in file.read().split(b"\0"):
                            found.append(int(entry))
                except OSError:
                    pass
        return found


def _read_for(terminal, seconds):
    """What comes from a terminal in that time, or until it is closed."""
    seen, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
    return seen


def _reap(pid, seconds):
    """The exit code of a child, killed when it takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
