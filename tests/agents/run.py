#!/usr/bin/env python3
"""Real agents under `swb`: run, ask, turn, relay, attach, and a crash of the daemon in between.

The agents are installed from their registries into a cache directory and talk to a stub server on
this machine. Needs Python 3.9 or later with nothing besides, Node.js and npm. See README.md.
"""

import argparse
import os
import re
import signal
import sys
import time
from contextlib import closing

sys.dont_write_bytecode = True  # nothing is left in the source tree

import agents
import install
from chat import Chat
from harness import Bench, Failed, check
from script import Exchange, stub_script
from stub_llm import Stub

READY_SECONDS = 120
TURN_SECONDS = 90
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = ("run", "ready", "ask", "turn", "attach", "relay", "crash", "midturn", "chat", "approve", "stop", "enter", "bang",
         "half", "command")


def say(text):
    print(text, flush=True)


class Session:
    """An agent in a session, and how it did."""

    def __init__(self, name, agent, version):
        self.name, self.agent, self.version = name, agent, version
        self.results = {}
        self.turns = 0     # turns it has completed
        self.pid = None


class Checks:
    """The steps. Each takes a session and gives a remark, or raises `Failed`."""

    def __init__(self, bench, url, sources):
        self.bench, self.url, self.sources = bench, url, sources

    def run(self, s):
        project = self.bench.project(s.name)
        env = s.agent.configure(self.bench.home, project, self.url)
        self.bench.run("run", "-d", "-n", s.name, "-w", project, "--", s.agent.command, *s.agent.arguments,
                       env=env)
        shown = self.bench.session(s.name)
        s.pid = shown["pid"]
        check(shown["status"] == "running", "swb ls says %s" % shown["status"])
        return "pid %d, profile %s" % (s.pid, shown["agent"]["profile"])

    def ready(self, s):
        answered, deadline = [], time.monotonic() + READY_SECONDS
        while True:
            code, out, err = self.bench.try_run("wait", s.name, "--until", "ready", "--timeout", "8")
            if code == 0:
                time.sleep(3)   # it may ask something after it has shown its prompt
                if self.bench.session(s.name)["agent"]["state"] == "ready":
                    break
            check(code in (0, 124), "swb wait ended with %d: %s" % (code, err or out))
            check(time.monotonic() < deadline, "not ready after %d s" % READY_SECONDS)
            answered += self._answer_dialog(s)
        state = self.bench.json("explain", s.name)
        check(state["state"] == "ready", "swb explain says %s" % state["state"])
        return "by %s%s" % (state["signal"], ", answered: " + "; ".join(answered) if answered else "")

    def _answer_dialog(self, s):
        screen = self.bench.run("screen", s.name)
        for expression, keys in s.agent.dialogs:
            found = re.search(expression, screen)
            if found:
                self.bench.run("keys", s.name, *keys)
                return [found.group(0)]
        return []

    def ask(self, s):
        exchange, began = Exchange(s.name, "ask"), time.monotonic()
        text = self.bench.run("ask", s.name, exchange.question, "--timeout", str(TURN_SECONDS))
        return "%.1f s%s" % (time.monotonic() - began, self._completed(s, exchange, text))

    def turn(self, s):
        exchange, name = Exchange(s.name, "ask"), s.name
        turn = self.bench.json("turn", name)
        check(not turn["interrupted"] and not turn["truncated"], "it is called interrupted or truncated")
        check(turn["submit_offset"] <= turn["start_offset"] <= turn["end_offset"], "its offsets are out of order")
        self._source(s, exchange, turn)
        text = self.bench.run("turn", turn["turn_id"], "--text")
        check(text.strip() == turn["text"].strip(), "swb turn --text and --json differ")
        check(exchange.complaint(text) is None, "swb turn: %s" % exchange.complaint(text))
        code, raw, err = self.bench.result(self.bench.start("turn", turn["turn_id"], "--raw"))
        check(code == 0 and len(raw) == turn["byte_length"],
              "swb turn --raw: %d bytes of %d %s" % (len(raw), turn["byte_length"], err))
        return "%s by %s, %d bytes, text from the %s" % (turn["turn_id"], turn["signal"], len(raw), turn["source"])

    def _source(self, s, exchange, turn):
        """The text of an agent whose session files are read is exactly what the server sent."""
        if not s.agent.transcript:
            check(turn["source"] == "screen", "its source is %s" % turn["source"])
            return
        why = self.bench.json("explain", s.name).get("source_reason")
        check(turn["source"] == "transcript", "its source is the %s: %s" % (turn["source"], why))
        check(turn["text"] == exchange.answer, "its text is not what was sent:\n%s" % _quote(turn["text"]))

    def attach(self, s):
        """A client attaches with another size while the agent answers, and again when it is done."""
        exchange = Exchange(s.name, "attach")
        asking = self.bench.start("ask", s.name, exchange.question, "--timeout", str(TURN_SECONDS))
        time.sleep(1.5)
        self.bench.look_on(s.name, 2.5)
        code, out, err = self.bench.result(asking)
        check(code == 0, "swb ask ended with %d: %s" % (code, err))
        remark = self._completed(s, exchange, out.decode("utf-8", "replace"))
        self.bench.look_on(s.name, 1.5, cols=80, rows=24)
        self._settled(s)
        return "detached in mid-answer and at the prompt" + remark

    def relay(self, s):
        """The first answer of another session goes into this one, in front of it a word."""
        source, exchange = self.sources[s.name], Exchange(s.name, "relay")
        waiting = self.bench.start("wait", s.name, "--until", "turn", "--timeout", str(TURN_SECONDS))
        time.sleep(1)
        self.bench.run("relay", source + ":1", s.name, "--prefix", exchange.question + ": ", "--submit")
        code, out, err = self.bench.result(waiting)
        if code != 0:
            missing = "the server was not asked for it, or not with all of the text"
            raise Failed("swb wait --until turn ended with %d: %s (%s)" % (code, err or out.decode(), missing))
        text = self.bench.run("turn", s.name)
        remark = self._completed(s, exchange, text)
        first = Exchange(source, "ask")
        check(not any(marker in text for marker in first.markers),
              "what was relayed is in the answer:\n%s" % _quote(text))
        return "from %s%s" % (source, remark)

    def crash(self, s):
        """What was there before the daemon's end is there after it, and the agent goes on."""
        exchange, before = Exchange(s.name, "crash"), self._known(s)
        self._kill_daemon()
        self._settled(s)
        check(self._known(s) == before, "what is known of it has changed")
        text = self.bench.run("ask", s.name, exchange.question, "--timeout", str(TURN_SECONDS))
        return "all there, answers" + self._completed(s, exchange, text)

    def midturn(self, s):
        """The daemon ends while the agent answers; the turn is found all the same."""
        exchange = Exchange(s.name, "midturn")
        self.bench.run("send", s.name, exchange.question)
        time.sleep(0.5)
        self.bench.run("keys", s.name, "Enter")
        time.sleep(2)
        self._kill_daemon()
        self._settled(s, turns=s.turns + 1)
        return "the turn is there" + self._completed(s, exchange, self.bench.run("turn", s.name))

    def chat(self, s):
        """The same agent in a conversation: its answer comes in parts, and is the turn."""
        exchange = Exchange(s.name, "chat")
        with self._chat(s) as chat:
            parts, status, _ = chat.say(exchange.question, TURN_SECONDS)
        check(status == "completed", "it ended with %s" % status)
        turn, told = self.bench.json("turn", s.name), "".join(parts)
        self._source(s, exchange, turn)
        # The parts come from the screen, which has no marks of Markdown.
        lines = [] if s.agent.transcript else turn["text"].strip().split("\n")
        missing = [line for line in lines if line not in told.split("\n")]
        check(not missing, "this is missing in the parts: %s" % missing)
        same = "the turn" if not lines or told.strip() == turn["text"].strip() else "the turn, with older lines in between"
        return "%d parts are %s%s" % (len(parts), same, self._completed(s, exchange, told))

    def approve(self, s):
        """What it asks in a dialog is asked of the client, whose decision it gets."""
        remarks = []
        for step, approved in (("approved", True), ("denied", False)):
            exchange = Exchange(s.name, step)
            with self._chat(s) as chat:
                parts, status, asked = chat.say(s.agent.tool_prefix + exchange.question, TURN_SECONDS,
                                                decide=lambda request: {"approved": approved})
            check(asked, "it was not asked; it said %s" % parts)
            check(status == "completed", "it ended with %s after %s" % (status, asked))
            made = os.path.exists(os.path.join(self.bench.home, s.name, step + ".txt"))
            check(made == approved, "%s: the file is %sthere" % (step, "" if made else "not "))
            remarks.append("%s (%s)" % (asked[0]["reason"], asked[0]["tool_name"]))
        self._settled(s, turns=len(self.bench.json("turns", s.name)))
        return "; ".join(remarks)

    def stop(self, s):
        """An answer is stopped, and the next prompt is answered."""
        exchange, after = Exchange(s.name, "stop"), Exchange(s.name, "resumed")
        with self._chat(s) as chat:
            _, status, waited = chat.say(exchange.question, TURN_SECONDS, stop_at=exchange.markers[0])
            check(status == "stopped", "it ended with %s" % status)
            check(waited[0] < 2, "it took %.1f s" % waited[0])
            parts, status, _ = chat.say(after.question, TURN_SECONDS)
        check(status == "completed", "after that it ended with %s" % status)
        complaint = after.complaint("".join(parts))
        check(complaint is None, "after that %s in:\n%s" % (complaint, _quote("".join(parts))))
        return "after %.2f s" % waited[0]

    def enter(self, s):
        """Text with Enter behind it is submitted."""
        exchange = Exchange(s.name, "enter")
        self._settled(s, turns=len(self.bench.json("turns", s.name)))
        s.turns = len(self.bench.json("turns", s.name))
        self.bench.run("send", s.name, exchange.question, "--enter")
        self._settled(s, turns=s.turns + 1)
        return "submitted" + self._completed(s, exchange, self.bench.run("turn", s.name))

    def bang(self, s):
        """An answer that looks like a command of the agent is relayed to it, and not run."""
        exchange = Exchange(s.name, "bang")
        text = self.bench.run("ask", s.name, exchange.question, "--timeout", str(TURN_SECONDS))
        check(text.strip().startswith("!touch"), "it said %r" % text)
        turn = self.bench.json("turns", s.name)[0]["turn_id"]
        code, _, err = self.bench.try_run("relay", turn, s.name, "--verbatim", "--submit")
        check(code == 1 and "like a command" in err, "verbatim it ended with %d: %s" % (code, err))
        self.bench.run("relay", turn, s.name, "--submit")
        s.turns += 2
        self._settled(s)
        check(not os.path.exists(os.path.join(self.bench.home, s.name, "pwned.txt")), "it was run")
        return "refused verbatim, a prompt with its origin"

    def half(self, s):
        """Text that was not submitted is not joined to a question, be it one row or several."""
        for text, last in (("half typed", "half typed"), ("half typed " + "and longer " * 20 + "END", "END")):
            self.bench.run("send", s.name, text)
            self.bench.run("wait", s.name, "--text", last, "--timeout", "20")
            code, _, err = self.bench.try_run("ask", s.name, "and more", "--timeout", "20")
            check(code == 1 and "not submitted" in err, "swb ask ended with %d: %s" % (code, err))
            self.bench.run("keys", s.name, *["C-u"] * 6)
            self._settled(s)
        return err.split(": ", 2)[-1].split(";")[0]

    def command(self, s):
        """A command of the agent itself returns, and the agent is ready."""
        began = time.monotonic()
        self.bench.run("ask", s.name, "/clear", "--timeout", "20")
        check(self.bench.session(s.name)["agent"]["state"] == "ready", "it is not ready")
        return "after %.1f s" % (time.monotonic() - began)

    def _chat(self, s):
        return closing(Chat(self.bench.home, s.name))

    def _kill_daemon(self):
        killed = self.bench.crash()
        deadline = time.monotonic() + 30
        while self.bench.json("status")["daemon"]["pid"] == killed:
            check(time.monotonic() < deadline, "the daemon is still the one that was killed")
            time.sleep(0.1)

    def _known(self, s):
        """What outlives the daemon: process, turns and their texts."""
        turns = [turn["turn_id"] for turn in self.bench.json("turns", s.name)]
        return self.bench.session(s.name)["pid"], [(t, self.bench.run("turn", t)) for t in turns]

    def _settled(self, s, turns=None):
        """Waits until the agent is ready with the turns it should have; no others may come."""
        turns = s.turns if turns is None else turns
        deadline = time.monotonic() + TURN_SECONDS
        while True:
            shown, count = self.bench.session(s.name), len(self.bench.json("turns", s.name))
            if shown["agent"]["state"] == "ready" and count == turns:
                break
            check(time.monotonic() < deadline, "%s with %d turns, should be ready with %d"
                  % (shown["agent"]["state"], count, turns))
            time.sleep(0.3)
        check(shown["status"] == "running" and shown["pid"] == s.pid, "its process is another one")

    def _completed(self, s, exchange, text):
        """A turn has been completed: its text is right, and it is the only new one."""
        s.turns += 1
        complaint = exchange.complaint(text)
        check(complaint is None, "%s in:\n%s" % (complaint, _quote(text)))
        ids = [turn["turn_id"] for turn in self.bench.json("turns", s.name)]
        wanted = ["%s:%d" % (s.name, n) for n in range(s.turns, 0, -1)]
        check(ids == wanted, "swb turns lists %s, should be %s" % (ids, wanted))
        latest = self.bench.json("turn", s.name)
        if latest["turn_id"] == wanted[0]:
            self._source(s, exchange, latest)
        extra = exchange.extra(text)
        return ", with other words in it: " + " ".join(extra[:12]) if extra else ""


def _quote(text):
    return "\n".join("    | " + line for line in text.rstrip().split("\n"))


def one_step(checks, step, session, bench):
    """Does a step with a session, unless an earlier one has failed, and prints how it went."""
    if any(result == "FAIL" for result in session.results.values()):
        session.results[step] = "-"
        return
    try:
        remark, result = getattr(checks, step)(session), "ok"
    except (Failed, OSError, KeyError, ValueError) as error:
        remark, result = "%s" % (error or type(error).__name__), "FAIL"
    session.results[step] = result
    say("%-4s %-8s %-8s %s" % (result, session.name, step, remark))
    if result == "FAIL":
        for command in ("explain", "screen"):
            try:
                say("  swb %s %s:\n%s" % (command, session.name, _quote(bench.try_run(command, session.name)[1])))
            except (Failed, OSError) as error:
                say("  swb %s: %s" % (command, error))


def installed(wanted, directory):
    """The sessions to run, and what could not be installed with the reason."""
    sessions, bin_dirs, missing = [], [], []
    for spec in wanted:
        name, _, version = spec.partition("@")
        agent = agents.by_name(name)
        try:
            bin_dir, has = install.install(agent, version, directory, say)
        except install.CannotInstall as error:
            missing.append((spec, str(error)))
            say("skip %-8s %s" % (spec, error))
            continue
        sessions.append(Session(name, agent, has))
        bin_dirs.append(bin_dir)
    if len(sessions) == 1:
        only = sessions[0]   # a relay needs a second one
        sessions.append(Session(only.name + "2", only.agent, only.version))
    return sessions, bin_dirs, missing


def table(sessions, missing):
    line = "%-10s %-12s" + " %-8s" * len(STEPS)
    say("\n" + line % (("session", "version") + STEPS))
    for s in sessions:
        say(line % ((s.name, s.version) + tuple(s.results.get(step, "-") for step in STEPS)))
    for spec, reason in missing:
        say("%-10s skipped: %s" % (spec, reason))


def arguments():
    parser = argparse.ArgumentParser(description="Runs real agents under swb against a stub server.")
    parser.add_argument("--agents", default=",".join(a.name for a in agents.ALL), metavar="LIST",
                        help="which, separated by commas; claude@2.0.30 is that version [%(default)s]")
    parser.add_argument("--install-dir", default=install.default_directory(), metavar="DIR",
                        help="where they are installed, and looked for [%(default)s]")
    parser.add_argument("--swb", default=os.path.join(ROOT, "target", "release", "swb"), metavar="FILE",
                        help="the program to test [target/release/swb]")
    parser.add_argument("--keep", action="store_true", help="leave the temporary directory behind")
    args = parser.parse_args()
    args.agents = [spec for spec in args.agents.split(",") if spec]
    names = [spec.partition("@")[0] for spec in args.agents]
    if not names or len(set(names)) < len(names) or not all(map(agents.by_name, names)):
        parser.error("--agents takes each of these at most once: " + ", ".join(a.name for a in agents.ALL))
    if not os.access(args.swb, os.X_OK):
        parser.error("%s is not there; build it with `cargo build --release`, or name one with --swb" % args.swb)
    return args


def drive(bench, sessions, sources):
    """All steps with all sessions; a step is done with every session before the next one comes."""
    stub = Stub(stub_script([(s.name, s.agent, s.version) for s in sessions], sources)).start()
    checks = Checks(bench, "http://127.0.0.1:%d" % stub.port, sources)
    try:
        for step in STEPS:
            for session in sessions:
                one_step(checks, step, session, bench)
    finally:
        stub.stop()


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sessions, bin_dirs, missing = installed(args.agents, os.path.abspath(args.install_dir))
    if not sessions:
        say("\nNo agent could be installed; nothing was tested.")
        return 1
    names = [s.name for s in sessions]
    sources = {name: names[i - 1] for i, name in enumerate(names)}
    bench = Bench(os.path.abspath(args.swb), bin_dirs)
    try:
        drive(bench, sessions, sources)
    finally:
        left = bench.close(args.keep)
        if args.keep:
            say("kept: " + bench.base)
    table(sessions, missing)
    if left:
        say("FAIL: these processes could not be ended: %s" % left)
    good = all(s.results.get(step) == "ok" for s in sessions for step in STEPS)
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())
