#!/usr/bin/env python3
"""Records agents against a stub server: `agents_recorder.py OUTPUT BIN_DIRS [AGENT[/SCENARIO]...]`.

BIN_DIRS are the directories of the agents' programs, joined by colons. The answers are known, because the
stub server sends them; which of their words were shown is read from an independent screen model (pyte).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agents"))

import agents as known
from recorder import Session, write
from stub_llm import Stub

HOME, PROJECT = "/home/user", "/home/user/project"


# Newer releases share a background server, which would outlive the session.
CODEX_ALONE = ("--no-daemon",)


class Opencode(known.Agent):
    name = command = "opencode"

    def tool(self, command, version):
        return {"name": "bash", "input": {"command": command, "description": "Make a file"}}

    def configure(self, home, project, url):
        path = os.path.join(home, ".config", "opencode", "opencode.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        model = {"npm": "@ai-sdk/openai-compatible", "name": "stub",
                 "options": {"baseURL": url + "/v1", "apiKey": "dummy"}, "models": {"stub-model": {"name": "Stub"}}}
        with open(path, "w") as file:
            json.dump({"autoupdate": False, "share": "disabled", "model": "stub/stub-model",
                       "small_model": "stub/stub-model", "permission": {"bash": "ask", "edit": "ask"},
                       "provider": {"stub": model}}, file)
        return {}


class CodexInline(known.Codex):
    """codex without the alternate screen."""

    folder = "codex-inline"
    arguments = ("--no-alt-screen",)


AGENTS = {getattr(agent, "folder", agent.name): agent for agent in known.ALL + (Opencode(), CodexInline())}
# The screen shows that it works.
BUSY = {"claude": r"^[·✢✳✶✻✽∗*] \S+…|^  \S.*esc to interrupt(?=[^\n]*\n*\Z)", "codex": r"^[•◦] \S.*esc to interrupt\)",
        "gemini": r"^ [\u2800-\u28ff] .*esc to cancel", "opencode": r"^ +[⬝■]+ +esc (?:again to )?interrupt",
        "aider": r"Waiting for|░█"}
PROMPT = {"claude": r"^[❯>]", "codex": r"^› ", "gemini": r"^ > ", "opencode": r"╹▀▀", "aider": r"^(?:ask)?> ?$"}

ASKS = {"claude": r"Do you want to proceed", "codex": r"Would you like to run", "gemini": r"Allow execution|Apply this change|● 1\. ",
        "opencode": r"△ Permission required"}
APPROVE = {"claude": "1", "codex": "y", "gemini": "\r", "opencode": "\r"}


def numbered(tag, count, words=6):
    lines = ["ZQ%s%03d line number %d %s" % (tag, n, n, "of the long answer " * (words // 4)) for n in range(1, count + 1)]
    return "\n".join(line.rstrip() for line in lines)


def paragraphs(tag, count):
    """Paragraphs of three rows; repeated words would be taken for a loop."""
    return "\n\n".join("ZQ%s%03d is paragraph %d. %s" % (tag, n, n, " ".join("word%d" % (n * k) for k in range(1, 25)))
                       for n in range(1, count + 1))


CODE = "ZQ{0}000 first.\n\n```python\ndef one():\n    return 'ZQ{0}001'\n\n\ndef two():\n    return 'ZQ{0}002'\n```\n\nZQ{0}003 👨‍👩‍👧‍👦 family and 👩🏽‍💻 coder, 漢字 too.\n\n| a | b |\n|---|---|\n| ZQ{0}004 | ZQ{0}005 |\n\nZQ{0}006 last."
TRAP = "ZQ{0}000 quotes:\n\n> ZQ{0}001 quoted\n\n```\n❯ 1. Yes\n  2. No\n$ \n>>> \n› \nesc to interrupt ZQ{0}002\n```\n\nZQ{0}003 end"

SCENARIOS = {
    # An answer longer than the screen, at several paces.
    "21-long": dict(size=(100, 30), turns=[
        dict(answer=numbered("LA", 70), pace=dict(chunk=60, delay_ms=15)),
        dict(answer="ZQLB000 short one"),
        dict(answer=paragraphs("LC", 14), pace=dict(chunk=200, delay_ms=10)),
    ]),
    "22-resize": dict(size=(110, 32), turns=[
        dict(answer=numbered("RA", 60), pace=dict(chunk=40, delay_ms=60), resizes=[(0.8, 80, 24), (1.8, 120, 40)]),
        dict(answer=paragraphs("RB", 8), pace=dict(chunk=20, delay_ms=30), resizes=[(1.0, 90, 20)]),
    ]),
    "23-burst": dict(size=(80, 24), turns=[
        dict(answer=numbered("BA", 30), pace=dict(chunk=4000, delay_ms=1)),
        dict(answer=numbered("BB", 30), pace=dict(chunk=4000, delay_ms=1)),
        dict(answer="ok ZQBC000"), dict(answer="ok ZQBD000"),
        dict(answer=CODE.format("BE"), pace=dict(chunk=30, delay_ms=20)),
        dict(answer=TRAP.format("BF"), pace=dict(chunk=12, delay_ms=40)),
    ]),
}

# A command that the user approves, twice, and an answer that is the same each time.
SAME = "The same answer ZQTS000\n\nwith two paragraphs ZQTS001"
TOOL = {"24-tool": dict(size=(80, 24), turns=[
    dict(answer=SAME, tool="made-one.txt", say="I will make it ZQTA000."),
    dict(answer=SAME), dict(answer=SAME),
    dict(answer=SAME, tool="made-two.txt", say="I will make it ZQTB000."),
])}


def fresh_home():
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(PROJECT)
    for name, text in [("README.md", "# A project\n"), ("hello.py", "print('hello')\n"), ("notes.txt", "notes\n")]:
        with open(os.path.join(PROJECT, name), "w") as file:
            file.write(text)


def record(agent, version, scenario, plan, out, path):
    fresh_home()
    replies = []
    rules, last_rule = [], []
    for n, turn in enumerate(plan["turns"], 1):
        rule = dict(agent.rule, match="Q%02dQ" % n)
        if "tool" in turn:
            call = agent.tool("touch " + turn["tool"], version)
            rules.append(dict(rule, after_tool=False, text=turn["say"], tool=call))
            rules.append(dict(rule, after_tool=True, text=turn["answer"]))
        else:
            rules.append(dict(rule, text=turn["answer"], **turn.get("pace", {})))
        last_rule.append(len(rules) - 1)
    stub = Stub({"rules": rules, "default": {"text": "ok"}}, on_event=replies.append).start()
    env = agent.configure(HOME, PROJECT, "http://127.0.0.1:%d" % stub.port)
    cols, rows = plan["size"]
    session = Session([agent.command, *agent.arguments, *(CODEX_ALONE if agent.name == "codex" and not version.startswith("0.80") else ())], cols, rows,
                      dict(env, PATH=path + ":/usr/local/bin:/usr/bin:/bin", **plan.get("env", {})))
    epoch = time.time() - session.now()
    idle = lambda: (re.search(PROMPT[agent.name], session.display(), re.M)
                    and not re.search(BUSY[agent.name], session.display(), re.M))
    expected = []
    try:
        end = time.monotonic() + 90
        while True:
            session.pump(0.3)
            for pattern, keys in agent.dialogs:
                if session.now() - session.last > 1 and re.search(pattern, session.display()):
                    for key in keys:
                        session.keys({"Enter": "\r", "Up": "\x1b[A", "Down": "\x1b[B"}.get(key, key), 0.2)
                    session.pump(1)
            if idle() and session.now() - session.last >= 2:
                break
            if time.monotonic() > end:
                raise SystemExit("not ready:\n" + session.display())
        ready0 = {"offset": session.offset, "t": session.now()}
        for n, turn in enumerate(plan["turns"], 1):
            words = re.findall(r"ZQ[A-Z]+\d+", turn.get("say", "") + turn["answer"])
            dialogs = []
            session.watch, session.shown = words, set()
            text = "Please answer Q%02dQ now" % n
            typed = (session.offset, session.now())
            session.keys(text, 0.03)
            session.pump(1.0)
            submit = (session.offset, session.now())
            session.write("\r")
            resizes = list(turn.get("resizes", []))
            reply = None
            started = None
            end = time.monotonic() + 150
            while time.monotonic() < end:
                session.pump(0.05)
                mine = [e for e in replies if e.get("rule") == last_rule[n - 1]]
                if started is None and any(e["event"] == "reply_start" for e in mine):
                    started = time.monotonic()
                while resizes and started and time.monotonic() - started > resizes[0][0]:
                    session.resize(*resizes.pop(0)[1:])
                quiet = session.now() - session.last >= 1
                if "tool" in turn and not dialogs and quiet and re.search(ASKS[agent.name], session.display(), re.M):
                    dialogs.append({"offset": session.offset, "t": session.now()})
                    session.write(APPROVE[agent.name])
                ends = [e["t"] for e in mine if e["event"] == "reply_end"]
                if ends and reply is None:
                    reply = ends[0] - epoch
                if reply is not None and not resizes and session.now() - session.last >= 1.5 and idle():
                    break
            else:
                raise SystemExit("turn %d: not ready:\n%s" % (n, session.display()))
            replied = sum(len(e["b64"]) * 3 // 4 - e["b64"].count("=") for e in session.events
                          if e["d"] == "o" and e["t"] <= reply)
            shown = [word for word in words if word in session.shown]
            expected.append({
                "n": n, "input": text, "paste": False, "typed_offset": typed[0], "typed_t": typed[1],
                "submit_offset": submit[0], "submit_t": submit[1], "reply_end_offset": replied,
                "reply_end_t": round(reply, 4), "ready_offset": session.offset, "ready_t": session.now(),
                "interrupted": False, "dialogs": dialogs, "answer": turn.get("say", "") + turn["answer"], "answer_sent": turn["answer"],
                "markers": words, "markers_on_screen": shown, "alt_screen": bool(session.modes.get(1049))})
            session.watch = []
        folder = os.path.join(out, scenario)
        write(folder, session, agent.name, version, [agent.command], scenario, ready0, expected, plan["size"])
        size = os.path.getsize(os.path.join(folder, "stream.jsonl"))
        print(agent.name, scenario, [(len(t["markers_on_screen"]), len(t["markers"])) for t in expected], size, flush=True)
    finally:
        session.close()
        stub.stop()
        subprocess.run(["pkill", "-9", "-s", str(session.pid)], check=False)


def main():
    out, path, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    for folder, agent in AGENTS.items():
        for scenario, plan in dict(SCENARIOS, **(TOOL if agent.name in ASKS else {})).items():
            if only and folder not in only and folder + "/" + scenario not in only:
                continue
            done = subprocess.run([agent.command, "--version"], env=dict(os.environ, PATH=path + ":" + os.environ["PATH"]),
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            version = (re.search(r"\d+\.\d+\.\d+", done.stdout) or [""])[0]
            try:
                record(agent, version, scenario, plan, os.path.join(out, folder + "-live"), path)
            except SystemExit as error:
                print("FAILED", agent.name, scenario, str(error)[-1500:], flush=True)


main()
