#!/usr/bin/env python3
"""Real agents with the hooks of `swb integration`: what they report of themselves.

Works as run.py does, and has the same needs. See README.md.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the source tree

import agents
import install
from harness import Bench, Failed, check
from run import ROOT, TURN_SECONDS, Checks, installed, one_step, say
from script import Exchange, stub_script
from stub_llm import Stub

STEPS = ("run", "ready", "ask", "asking", "uninstall")
NAMES = ("claude", "codex", "gemini", "opencode")
FILES = {"claude": ".claude/settings.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json",
         "opencode": ".config/opencode/plugin/switchboard.js"}


class Events:
    """The states that `swb events` reports meanwhile, with the signals they are based on."""

    def __init__(self, bench, name):
        self.process = bench.start("events", name, "--json")
        time.sleep(0.5)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            out, _ = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
        events = [json.loads(line) for line in out.decode("utf-8", "replace").splitlines()]
        return [(e["state"], e.get("signal")) for e in events if e["event"] == "status"]


class HookChecks(Checks):
    """The steps."""

    def run(self, s):
        project = self.bench.project(s.name)
        env = s.agent.configure(self.bench.home, project, self.url)
        s.file = os.path.join(self.bench.home, FILES[s.agent.name])
        s.before = _content(s.file)
        self.bench.run("integration", "install", s.agent.name, "--yes", env=env)
        states = {a["agent"]: a["state"] for a in self.bench.json("integration", "status")}
        check(states[s.agent.name] == "installed", "swb integration status says %s" % states)
        s.installed = _content(s.file)
        self.bench.run("run", "-d", "-n", s.name, "-w", project, "--", s.agent.command, *s.agent.arguments,
                       env=env)
        s.pid = self.bench.session(s.name)["pid"]
        return "installed, pid %d" % s.pid

    def ready(self, s):
        remark = super().ready(s)
        if s.agent.name == "codex":
            # It asks for a review at its first prompt, once it has started completely.
            self.bench.run("send", s.name, Exchange(s.name, "enter").question, "--enter")
            for _ in range(60):
                screen = self.bench.run("screen", s.name)
                if "need review" in screen:
                    self.bench.run("keys", s.name, "Down", "Enter")
                    remark += ", trusts the hooks"
                elif Exchange(s.name, "enter").markers[1] in screen:
                    break
                time.sleep(2)
            super().ready(s)
        return remark

    def ask(self, s):
        """The agent reports itself when it works and when it is done."""
        exchange, events = Exchange(s.name, "ask"), Events(self.bench, s.name)
        try:
            text = self.bench.run("ask", s.name, exchange.question, "--timeout", str(TURN_SECONDS))
        finally:
            time.sleep(1)
            seen = events.close()
        complaint = exchange.complaint(text)
        check(complaint is None, "%s in:\n%s" % (complaint, text))
        # That it works is known before its hook reports it: from the Enter that was typed.
        check("working" in [state for state, _ in seen], "it was never working: %s" % seen)
        check(("ready", "hook") in seen, "no hook reported 'ready': %s" % seen)
        return ", ".join("%s by %s" % pair for pair in seen)

    def asking(self, s):
        """It reports a question, too."""
        exchange, events = Exchange(s.name, "approved"), Events(self.bench, s.name)
        try:
            self.bench.run("send", s.name, s.agent.tool_prefix + exchange.question, "--enter")
            self.bench.run("wait", s.name, "--until", "asking", "--timeout", str(TURN_SECONDS))
            time.sleep(2)
            explained = self.bench.json("explain", s.name)
            self.bench.run("keys", s.name, "Enter")
            self.bench.run("wait", s.name, "--until", "ready", "--timeout", str(TURN_SECONDS))
            time.sleep(1)
        finally:
            seen = events.close()
        check(("asking", "hook") in seen or explained["signal"] == "hook",
              "no hook reported 'asking': %s, %s" % (seen, explained))
        return ", ".join("%s by %s" % pair for pair in seen)

    def uninstall(self, s):
        """The file is what it was, unless the agent has changed it meanwhile."""
        changed = _content(s.file) != s.installed
        self.bench.run("integration", "uninstall", s.agent.name, "--yes")
        after = _content(s.file)
        check(changed or after == s.before, "it is not what it was:\n%s" % after)
        check("hook --event" not in (after or ""), "hooks are left:\n%s" % after)
        return "changed by the agent meanwhile; the hooks are gone" if changed else "the file is what it was"


def _content(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def arguments():
    parser = argparse.ArgumentParser(description="Runs real agents with the hooks of `swb integration`.")
    parser.add_argument("--agents", default=",".join(NAMES), metavar="LIST",
                        help="which, separated by commas; claude@2.1.325 is that version [%(default)s]")
    parser.add_argument("--install-dir", default=install.default_directory(), metavar="DIR",
                        help="where they are installed, and looked for [%(default)s]")
    parser.add_argument("--swb", default=os.path.join(ROOT, "target", "release", "swb"), metavar="FILE",
                        help="the program to test [target/release/swb]")
    parser.add_argument("--keep", action="store_true", help="leave the temporary directory behind")
    args = parser.parse_args()
    args.agents = [spec for spec in args.agents.split(",") if spec]
    if not args.agents or not all(spec.partition("@")[0] in NAMES for spec in args.agents):
        parser.error("--agents takes these: " + ", ".join(NAMES))
    return args


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sessions, bin_dirs, missing = installed(args.agents, os.path.abspath(args.install_dir))
    sessions = sessions[:len(args.agents)]   # no relays here, which need a second one
    if not sessions:
        say("\nNo agent could be installed; nothing was tested.")
        return 1
    sources = {s.name: s.name for s in sessions}
    bench = Bench(os.path.abspath(args.swb), bin_dirs)
    stub = Stub(stub_script([(s.name, s.agent, s.version) for s in sessions], sources)).start()
    checks = HookChecks(bench, "http://127.0.0.1:%d" % stub.port, sources)
    try:
        for session in sessions:
            for step in STEPS:
                one_step(checks, step, session, bench)
    finally:
        stub.stop()
        left = bench.close(args.keep)
        if args.keep:
            say("kept: " + bench.base)
    for spec, reason in missing:
        say("%-10s skipped: %s" % (spec, reason))
    if left:
        say("FAIL: these processes could not be ended: %s" % left)
    good = all(s.results.get(step) == "ok" for s in sessions for step in STEPS)
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())
