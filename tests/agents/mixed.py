#!/usr/bin/env python3
"""Twenty prompts of mixed kinds to each real agent: one turn each, the right states, the answer as text.

The answers and how they are compared are in answers.py; agents, stub server and daemon are those of run.py.
See README.md.
"""

import argparse
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing is left in the source tree

import agents
import answers
import install
from harness import Bench, Failed, check
from run import ROOT, TURN_SECONDS, Checks, Session, installed, say
from stub_llm import Stub

LARGE, SMALL = "120x40", "80x24"
# An agent is ready about a second after the last byte of the answer; one that is still drawing a long one, later.
LATE_SECONDS = 30
# How long an extra turn, or a state that is taken back, is waited for.
AFTER_SECONDS = 2


class Watch:
    """The events of one session as they come."""

    def __init__(self, bench, name):
        self.events, self.process = [], bench.start("events", name, "--json")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            if line.strip():
                self.events.append(json.loads(line))

    def since(self, at):
        return self.events[at:]

    def close(self):
        self.process.terminate()
        self.process.communicate()


class Outcome:
    """How one prompt went: what was wrong, and remarks."""

    def __init__(self, prompt, size):
        self.prompt, self.size = prompt, size
        self.early = self.missed = self.extra = 0
        self.states, self.text, self.diff, self.remarks = [], [], [], []

    def good(self):
        return not (self.early or self.missed or self.extra or self.states or self.text)

    def line(self):
        wrong = ["%d %s" % (count, what) for count, what in
                 ((self.early, "early"), (self.missed, "missed"), (self.extra, "extra")) if count]
        return "; ".join(wrong + self.states + self.text + self.remarks) or "as sent"


class Mixed:
    """Asks one agent its prompts."""

    def __init__(self, bench, agent, version, stub, log, kept):
        self.bench, self.agent, self.version, self.log, self.kept = bench, agent, version, log, kept
        self.checks = Checks(bench, "http://127.0.0.1:%d" % stub.port, {})

    def session(self, name, size, chosen, rule_of):
        """Starts the agent with a terminal of this size, and asks; the outcomes."""
        s = Session(name, self.agent, self.version)
        project = self.bench.project(name)
        env = self.agent.configure(self.bench.home, project, self.checks.url)
        self.bench.run("run", "-d", "-n", name, "-w", project, "--size", size, "--", self.agent.command,
                       *self.agent.arguments, env=env)
        watch = Watch(self.bench, name)
        recording = self.kept and self.bench.start("record", "-f", name, os.path.join(self.kept, name + ".cast"))
        try:
            self.checks.ready(s)
            return [self._one(s, prompt, size, watch, rule_of[prompt.kind]) for prompt in chosen]
        finally:
            watch.close()
            self.bench.try_run("kill", name)
            if recording:
                self.bench.result(recording, 20)

    def _one(self, s, prompt, size, watch, rules):
        outcome = Outcome(prompt, size)
        first_event, first_reply = len(watch.events), len(self.log)
        before = len(self.bench.json("turns", s.name))
        try:
            self._ask(s, prompt)
        except Failed as error:
            outcome.states.append(str(error))
        replies = [e for e in self.log[first_reply:] if e["event"] == "reply_end" and e["rule"] in rules]
        time.sleep(AFTER_SECONDS)
        turns = self.bench.json("turns", s.name)
        self._judge_turns(outcome, watch.since(first_event), replies, len(turns) - before)
        self._judge_states(outcome, watch.since(first_event), replies)
        if len(turns) > before:
            self._judge_text(outcome, [rules[e["rule"]] for e in replies], turns[0]["turn_id"])
        say("%-4s %-8s %-6s %-9s %s" % ("ok" if outcome.good() else "BAD", s.agent.name, size, prompt.kind,
                                        outcome.line()))
        for row in outcome.diff:
            say("       " + row)
        return outcome

    def _ask(self, s, prompt):
        """Asks, decides what is asked back, and waits until the agent is ready."""
        code, _, err = self.bench.try_run("ask", s.name, prompt.question(self.agent), "--timeout", str(TURN_SECONDS))
        for decision in prompt.decisions:
            check(code == 5, "no permission was asked: swb ended with %d: %s" % (code, err.strip()[-200:]))
            self._decide(s, decision)
            code, err = self._next(s)
        check(code == 0, "swb ended with %d: %s" % (code, err.strip()[-200:]))

    def _decide(self, s, decision):
        """Answers the dialog. One that is still being drawn changes, and is refused until it is complete."""
        for left in (3, 2, 1, 0):
            code, _, err = self.bench.try_run("approvals", decision, s.name)
            if code == 0:
                return
            check(left, "swb approvals %s ended with %d: %s" % (decision, code, err))
            time.sleep(1)

    def _next(self, s):
        """Waits for the end of the turn, or for a further question: the exit code of `swb ask`."""
        deadline, asked = time.monotonic() + TURN_SECONDS, 0
        while time.monotonic() < deadline:
            state = self.bench.session(s.name)["agent"]["state"]
            # A dialog stays for a moment after it was answered.
            asked = asked + 1 if state == "asking" else 0
            if state == "ready" or asked > 4:
                return (0 if state == "ready" else 5), ""
            time.sleep(0.3)
        return 124, "still " + state

    @staticmethod
    def _judge_turns(outcome, events, replies, count):
        outcome.missed, outcome.extra = max(0, 1 - count), max(0, count - 1)
        ended = [e["at"] / 1000 for e in events if e["event"] == "turn"]
        if ended and replies and ended[0] < replies[-1]["t"]:
            outcome.early = 1

    @staticmethod
    def _judge_states(outcome, events, replies):
        """Working until the last byte, with a question for each decision; ready soon after."""
        states = []
        for event in events:
            if event["event"] == "status" and states[-1:] != [event["state"]]:
                states.append(event["state"])
        wanted = ["working"] + ["asking", "working"] * len(outcome.prompt.decisions) + ["ready"]
        # A denial may end the turn at once.
        if states not in (wanted, wanted[:-2] + ["ready"] if outcome.prompt.decisions else wanted):
            outcome.states.append("states " + " ".join(states))
        if not replies:
            outcome.states.append("the server was not asked")
            return
        ready = [e["at"] / 1000 for e in events if e["event"] == "status" and e["state"] == "ready"]
        lag = (ready or [time.time()])[-1] - replies[-1]["t"]
        outcome.remarks.append("ready after %.1f s" % lag)
        if not outcome.prompt.decisions and lag > LATE_SECONDS:
            outcome.states.append("late")
        if ready and ready[0] < replies[-1]["t"]:
            outcome.states.append("ready %.1f s before the last byte" % (replies[-1]["t"] - ready[0]))

    def _judge_text(self, outcome, pieces, turn_id):
        turn = self.bench.json("turn", turn_id)
        if self.kept:
            path = os.path.join(self.kept, "%s-%s-%s.json" % (self.agent.name, outcome.size, outcome.prompt.kind))
            with open(path, "w", encoding="utf-8") as file:
                json.dump(turn, file, ensure_ascii=False, indent=1)
        written = turn["source"] == "transcript"
        compared = answers.Comparison(outcome.prompt, pieces, turn["text"], written)
        if not written:
            outcome.remarks.append("from the screen")
        outcome.text = compared.complaints
        outcome.diff = compared.diff() if compared.complaints else []
        if turn["truncated"] != bool(compared.missing):
            outcome.text.append("it is%s called truncated" % ("" if turn["truncated"] else " not"))
        if compared.missing:
            outcome.remarks.append("%d characters in gaps" % compared.missing)
        if compared.besides:
            outcome.remarks.append("besides: " + " ".join(compared.besides))


def drive(bench, agent, version, args):
    """All prompts of one agent, in two sessions."""
    chosen = [p for p in answers.prompts(agent.name) if not args.kinds or p.kind in args.kinds]
    rules, rule_of, log = [], {}, []
    for prompt in chosen:
        of_prompt = prompt.rules(agent, version)
        rule_of[prompt.kind] = {len(rules) + n: rule["text"] for n, rule in enumerate(of_prompt)}
        rules += of_prompt
    stub = Stub({"rules": rules, "default": {"text": "ok"}}, on_event=log.append).start()
    mixed, outcomes = Mixed(bench, agent, version, stub, log, args.keep), []
    try:
        for size in (LARGE, SMALL):
            of_size = [p for p in chosen if (args.size or (SMALL if p.small else LARGE)) == size]
            if of_size:
                outcomes += mixed.session("%s-%s" % (agent.name, size), size, of_size, rule_of)
    except Failed as error:
        say("FAIL %s: %s" % (agent.name, error))
    finally:
        stub.stop()
    return outcomes, len(chosen)


def without_session_files(home):
    """Has the daemon take all texts from the screen."""
    profiles, own = os.path.join(ROOT, "crates", "turns", "profiles"), os.path.join(home, ".config/switchboard/profiles")
    os.makedirs(own)
    for name in os.listdir(profiles):
        with open(os.path.join(profiles, name), encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("transcript =")]
        with open(os.path.join(own, name), "w", encoding="utf-8") as file:
            file.writelines(lines)


def table(results):
    line = "%-10s %-10s %8s %6s %7s %6s %12s %12s"
    say("\n" + line % ("agent", "version", "prompts", "early", "missed", "extra", "wrong state", "text equal"))
    for agent, version, outcomes, wanted in results:
        count = lambda what: sum(bool(getattr(o, what)) for o in outcomes)
        right = sum(not o.text and not o.missed for o in outcomes)
        say(line % (agent, version, "%d of %d" % (len(outcomes), wanted), count("early"), count("missed"), count("extra"),
                    count("states"), "%d of %d" % (right, len(outcomes))))


def arguments():
    parser = argparse.ArgumentParser(description="Asks real agents prompts of mixed kinds under swb.")
    parser.add_argument("--agents", default=",".join(a.name for a in agents.ALL), metavar="LIST",
                        help="which, separated by commas; claude@2.0.30 is that version [%(default)s]")
    parser.add_argument("--kinds", default="", metavar="LIST", help="only these kinds of prompts")
    parser.add_argument("--size", choices=(LARGE, SMALL), help="all prompts at this size")
    parser.add_argument("--install-dir", default=install.default_directory(), metavar="DIR",
                        help="where they are installed, and looked for [%(default)s]")
    parser.add_argument("--swb", default=os.path.join(ROOT, "target", "release", "swb"), metavar="FILE",
                        help="the program to test [target/release/swb]")
    parser.add_argument("--screen", action="store_true", help="take all texts from the screen, none from session files")
    parser.add_argument("--keep", metavar="DIR", help="write the turns (JSON) and recordings (asciicast) into this directory")
    args = parser.parse_args()
    args.agents = [spec for spec in args.agents.split(",") if spec]
    if args.keep:
        args.keep = os.path.abspath(args.keep)
        os.makedirs(args.keep, exist_ok=True)
    args.kinds = [kind for kind in args.kinds.split(",") if kind]
    return args


def main():
    args = arguments()
    results = []
    for spec in args.agents:
        sessions, bin_dirs, missing = installed([spec], os.path.abspath(args.install_dir))
        if missing:
            continue
        agent, version = sessions[0].agent, sessions[0].version
        bench = Bench(os.path.abspath(args.swb), bin_dirs)
        if args.screen:
            without_session_files(bench.home)
        try:
            outcomes, wanted = drive(bench, agent, version, args)
        finally:
            bench.close(False)
        results.append((agent.name, version, outcomes, wanted))
    table(results)
    return 0 if all(len(o) == n and all(x.good() for x in o) for _, _, o, n in results) else 1


if __name__ == "__main__":
    sys.exit(main())
