#!/usr/bin/env python3
"""Real agents that speak the Agent Client Protocol, as backends of conversations.

Like run.py it installs them from their registries, lets them talk to a stub server on this machine, and
touches nothing outside a temporary home. See README.md.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from contextlib import closing

sys.dont_write_bytecode = True  # nothing is left in the source tree

import agents
import install
from chat import Chat
from harness import Bench, Failed, check
from script import Exchange
from stub_llm import Stub

ANSWER_SECONDS = 120
STOP_SECONDS = 2
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = ("answer", "approved", "denied", "stop", "resumed", "crash")


def say(text):
    print(text, flush=True)


class ClaudeAcp(agents.Claude):
    """Claude Code behind an adapter."""

    name, command, package = "claude-acp", "claude-agent-acp", "@agentclientprotocol/claude-agent-acp"


class GeminiAcp(agents.Gemini):
    """Gemini speaks the protocol by itself."""

    arguments = ("--acp", "-m", "gemini-2.5-pro")


ALL = (ClaudeAcp(), GeminiAcp())


class NewChat(Chat):
    """A connection with a session that it has made."""

    def __init__(self, home, session, workspace):  # pylint: disable=super-init-not-called
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(home, ".scriptschnell.sock"))
        self.buffer, self.requests = b"", 0
        data = {"client_type": "test", "version": "1", "capabilities": ["authorization", "questions", "progress"]}
        self._answer(self._send("auth_request", data))
        self._answer(self._send("session_create", {"session_id": session, "workspace": workspace}))


class Checks:
    """The steps. Each gives a remark, or raises `Failed`."""

    def __init__(self, bench, agent, project):
        self.bench, self.agent, self.project = bench, agent, project

    def talk(self, step, chat, **more):
        exchange = Exchange(self.agent.name, step)
        parts, status, asked = chat.say(exchange.question, ANSWER_SECONDS, **more)
        return exchange, parts, status, asked

    def answer(self, chat):
        exchange, parts, status, _ = self.talk("chat", chat)
        check(status == "completed", "it ended with %s" % status)
        complaint = exchange.complaint("".join(parts))
        check(complaint is None, "%s: %r" % (complaint, "".join(parts)))
        check(len(parts) > 3, "it came in %d parts" % len(parts))
        return "%d parts" % len(parts)

    def approved(self, chat):
        exchange, parts, status, asked = self.talk("approved", chat, decide=lambda _: {"approved": True})
        check(status == "completed", "it ended with %s" % status)
        check(len(asked) == 1, "it asked %d times" % len(asked))
        check(os.path.exists(os.path.join(self.project, "approved.txt")), "it was not done")
        check(exchange.markers[1] in "".join(parts), "the answer after it is missing")
        options = [option.get("label") for option in asked[0].get("options", [])]
        return "%s, options: %s" % (asked[0]["tool_name"], "; ".join(map(str, options)))

    def denied(self, chat):
        _, _, status, asked = self.talk("denied", chat, decide=lambda _: {"approved": False})
        check(len(asked) == 1, "it asked %d times" % len(asked))
        check(not os.path.exists(os.path.join(self.project, "denied.txt")), "it was done all the same")
        return "it ended with: %s" % status

    def stop(self, chat):
        _, parts, status, took = self.talk("stop", chat, stop_at="begins")
        check(status == "stopped", "it ended with %s" % status)
        check(took and took[-1] < STOP_SECONDS, "it took %s" % took)
        return "%.2f s" % took[-1]

    def resumed(self, chat):
        exchange, parts, status, _ = self.talk("resumed", chat)
        check(status == "completed", "it ended with %s" % status)
        complaint = exchange.complaint("".join(parts))
        check(complaint is None, "%s: %r" % (complaint, "".join(parts)))
        return "the next prompt is answered"

    def crash(self, chat):
        """The daemon is killed: its agents end with it, and the conversation goes on."""
        status = self.bench.json("status")
        ours = {status["daemon"]["pid"], status["keeper"]["pid"]}
        mine = set(self.bench._left()) - ours
        check(mine, "no process of the agent is found")
        self.bench.crash()
        deadline = time.monotonic() + 10
        while mine & set(self.bench._left()):
            check(time.monotonic() < deadline, "it left processes over: %s" % (mine & set(self.bench._left())))
            time.sleep(0.1)
        self.bench.run("status")
        with closing(Chat(self.bench.home, self.agent.name)) as again:
            exchange, parts, status, _ = self.talk("crash", again)
        check(status == "completed", "it ended with %s" % status)
        complaint = exchange.complaint("".join(parts))
        check(complaint is None, "%s: %r" % (complaint, "".join(parts)))
        return "%d processes ended with it" % len(mine)


def rules_for(agent, version):
    rules = [Exchange(agent.name, step).rules(agent, None) for step in ("chat", "stop", "resumed", "crash")]
    for step in ("approved", "denied"):
        exchange = Exchange(agent.name, step)
        rules += agent.tool_rules(exchange.word, exchange.answer, step + ".txt", version)
    return rules


def configure(bench, found, url):
    """Writes the configuration of the daemon; the project of each agent."""
    lines, projects = ["[scriptschnell]", "enabled = true"], {}
    for agent, _ in found:
        project = projects[agent.name] = bench.project(agent.name)
        env = agent.configure(bench.home, project, url)
        lines += ["[[chat.workspaces]]", "path = %s" % json.dumps(project), "agent = %s" % json.dumps(agent.name)]
        lines += ["[[agents]]", "name = %s" % json.dumps(agent.name), 'kind = "acp"',
                  "command = %s" % json.dumps([agent.command, *agent.arguments]),
                  "env = { %s }" % ", ".join("%s = %s" % (key, json.dumps(value)) for key, value in env.items())]
    path = os.path.join(bench.home, ".config", "switchboard", "config.toml")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return projects


def drive(bench, agent, project):
    """All steps of one agent; whether they were right."""
    checks, good = Checks(bench, agent, project), True
    chat = NewChat(bench.home, agent.name, project)
    for step in STEPS:
        try:
            say("  ok    %-9s %s" % (step, getattr(checks, step)(chat)))
        except (Failed, OSError) as error:
            say("  FAIL  %-9s %s" % (step, error))
            good = False
            break
    chat.close()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swb", default=os.path.join(ROOT, "target", "release", "swb"))
    parser.add_argument("--agents", default=",".join(agent.name for agent in ALL))
    parser.add_argument("--install-dir", default=install.default_directory())
    parser.add_argument("--keep", action="store_true", help="leave the temporary directory")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found, bin_dirs = [], []
    for agent in ALL:
        if agent.name in args.agents.split(","):
            try:
                bin_dir, version = install.install(agent, None, os.path.abspath(args.install_dir), say)
                found.append((agent, version))
                bin_dirs.append(bin_dir)
            except install.CannotInstall as error:
                say("skipped: %s: %s" % (agent.name, error))
    if not found:
        say("No agent could be installed; nothing was tested.")
        return 1
    bench = Bench(os.path.abspath(args.swb), bin_dirs)
    rules = [rule for agent, version in found for rule in rules_for(agent, version)]
    good = True
    stub = Stub({"rules": rules, "default": {"text": "ok"}}).start()
    try:
        projects = configure(bench, found, "http://127.0.0.1:%d" % stub.port)
        bench.run("ls")
        for agent, version in found:
            say("%s %s" % (agent.name, version))
            good &= drive(bench, agent, projects[agent.name])
    finally:
        stub.stop()
        left = bench.close(args.keep)
        if args.keep:
            say("kept: " + bench.base)
    if left:
        say("FAIL: these processes could not be ended: %s" % left)
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())
