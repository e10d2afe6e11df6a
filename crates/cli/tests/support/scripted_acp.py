#!/usr/bin/env python3
"""An agent for tests. It speaks the Agent Client Protocol on its standard input and output (one JSON-RPC 2.0 message a
line) and does what the prompt says, so that tests need no files and no model.

The last line of a prompt is a script of steps with `;` between them. A prompt without any of these words in it is
answered with `you said: PROMPT`. In texts `\\n` is a line break and `\\s` a semicolon.

  say:TEXT            says TEXT in one piece
  chunks:N            says `0 1 2 ... N-1 `, a piece for each number
  flood:N             says N pieces of 1000 bytes, as fast as it can, each with its number at the beginning
  big:N               says N bytes in one piece
  stamp:N,MS          says N times, MS milliseconds apart, the time in nanoseconds since the epoch
  split:TEXT          says TEXT with a piece for each character
  think:TEXT          thinks TEXT
  tool:KIND:NAME      uses a tool of this kind (read, edit, execute, ...), which succeeds and gives `result of NAME`
  toolfail:NAME       uses a tool that fails
  toolopen:NAME       uses a tool and says nothing more about it
  diff:PATH:OLD:NEW   uses a tool that changes a file
  plan:A,B,C          tells a plan: the first entry is completed, the second in progress, the others pending
  usage:USED,SIZE     tells how much of its memory is used
  cost:IN,OUT         tells at the end what the answer has cost in tokens
  bill:DOLLARS        tells what the whole session has cost
  permit:TITLE        asks for permission to run TITLE, then says `permit: OPTION` or `permit: cancelled`
                      (options: yes = allow_once, always = allow_always, no = reject_once)
  fetch:URL           asks for permission to fetch URL, with no answer that lasts, then says the same
  edit:PATH:OLD:NEW   asks for permission to change a file and shows the change, then says the same
  permits:N           asks for N permissions at once, then says the answers in order
  choose:K1=L1,...    asks for permission with these options (kind=label, the id is `o1`, `o2`, ...)
  read:PATH           reads a file through the client and says `read: CONTENT`, or `read error: CODE`
  write:PATH=CONTENT  writes a file through the client and says `written`, or `write error: CODE`
  term:COMMAND        runs a shell command in a terminal of the client, says `term CODE: OUTPUT` or `term error: CODE`
  termkill:COMMAND    the same, but kills it at once
  call:METHOD         sends the client a request it does not know, says `call error: CODE` or `call answered`
  prompt              says the whole prompt
  session             says the name of the session and how many prompts it has had: `ID N`
  cwd                 says the directory of the session
  pid                 says its process id
  child               starts a child that sleeps, says its process id
  daemon              starts a process that leaves its group, session and parent, says its process id
  sh:COMMAND          runs a shell command as its own child, which inherits its descriptors, says `sh CODE: OUTPUT`
  env:NAME            says the value of a variable
  umask               says its file mode creation mask
  stderr:TEXT         writes a line to standard error
  touch:PATH          makes a file
  await:PATH          waits until there is such a file; a cancel ends the prompt
  sleep:MS            waits; a cancel ends the prompt
  stall               waits for a cancel
  hang                waits for ever; a script with this in it ignores cancels from its beginning
  deaf                the same, and reads nothing any more
  crash / crash:N     ends at once, with exit status N
  refuse              ends the prompt with the stop reason `refusal`
  fail:TEXT           answers the prompt with an error
  garbage / garbage:N writes N lines that are no JSON
  partial             writes half a line and ends
  wrong               writes JSON that is no JSON-RPC, updates for sessions that do not exist, and answers nobody asked for

Arguments: --no-load (cannot load sessions), --auth (demands authentication), --mute (never answers the greeting),
--crash (ends at once), --garbage (greets with garbage), --old (speaks a protocol version nobody knows),
--log FILE (adds every message it gets to FILE), --hold-load FILE (loads no session as long as FILE is there),
--pid FILE (writes its process id there), --hold-model (offers the models `one` and `two`, but never answers the choice).
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Yes, always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

output_lock = threading.Lock()
waiting = {}
sessions = {}
numbers = iter(range(1, 1 << 62))
deaf = threading.Event()


class Cancelled(Exception):
    """The client wants the prompt to end."""


class Refused(Exception):
    """The client has answered a request with an error."""


class Finish(Exception):
    """The prompt ends with this answer."""

    def __init__(self, result=None, error=None):
        super().__init__()
        self.result, self.error = result, error


def write(data):
    with output_lock:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(message):
    write((json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n").encode())


def start_call(method, params):
    number, answer = next(numbers), queue.Queue()
    waiting[number] = answer
    send({"id": number, "method": method, "params": params})
    return answer


def finish_call(answer, session):
    while True:
        try:
            message = answer.get(timeout=0.02)
            break
        except queue.Empty:
            if session["cancelled"].is_set() and not session["patient"]:
                raise Cancelled() from None
    if "error" in message:
        raise Refused(message["error"].get("code"))
    return message.get("result") or {}


def call(session, method, **params):
    return finish_call(start_call(method, {"sessionId": session["id"], **params}), session)


def update(session, kind, /, **fields):
    send({"method": "session/update",
          "params": {"sessionId": session["id"], "update": {"sessionUpdate": kind, **fields}}})


def text(content):
    return {"type": "text", "text": content}


def say(session, content):
    update(session, "agent_message_chunk", content=text(content))


def wait(session, fact):
    while not fact():
        if session["cancelled"].wait(0.01):
            raise Cancelled()


# ---- the steps ----

def chunks(session, rest):
    for number in range(int(rest)):
        if session["cancelled"].is_set():
            raise Cancelled()
        say(session, f"{number} ")


def flood(session, rest):
    for number in range(int(rest)):
        if session["cancelled"].is_set():
            raise Cancelled()
        say(session, f"{number:08}".ljust(999, "x") + "\n")


def stamp(session, rest):
    count, pause = rest.split(",")
    for _ in range(int(count)):
        say(session, f"{time.time_ns()}\n")
        if session["cancelled"].wait(int(pause) / 1000):
            raise Cancelled()


def tool(session, rest, status="completed"):
    kind, _, name = rest.partition(":")
    number = f"call_{next(numbers)}"
    update(session, "tool_call", toolCallId=number, title=f"Using {name}", kind=kind, status="in_progress",
           rawInput={"path": name}, locations=[{"path": os.path.join(session["cwd"], name)}])
    if status:
        update(session, "tool_call_update", toolCallId=number, status=status,
               content=[{"type": "content", "content": text(f"result of {name}")}])


def diff(session, rest):
    path, old, new = rest.split(":")
    number = f"call_{next(numbers)}"
    path = os.path.join(session["cwd"], path)
    update(session, "tool_call", toolCallId=number, title=f"Editing {path}", kind="edit", status="pending")
    update(session, "tool_call_update", toolCallId=number, status="completed",
           content=[{"type": "diff", "path": path, "oldText": old, "newText": new}])


def plan(session, rest):
    states = ["completed", "in_progress"]
    entries = [{"content": entry, "priority": "medium", "status": states[at] if at < 2 else "pending"}
               for at, entry in enumerate(rest.split(","))]
    update(session, "plan", entries=entries)


def ask(session, title, options, kind="execute", given="command"):
    number = f"call_{next(numbers)}"
    asked = {"toolCallId": number, "title": title, "kind": kind, "status": "pending", "rawInput": {given: title}}
    params = {"sessionId": session["id"], "toolCall": asked, "options": options}
    return start_call("session/request_permission", params)


def answered(session, answer):
    outcome = finish_call(answer, session).get("outcome", {})
    say(session, "permit: " + outcome.get("optionId", outcome.get("outcome", "?")) + "\n")


def edit(session, rest):
    path, old, new = rest.split(":")
    asked = {"toolCallId": f"call_{next(numbers)}", "title": f"Edit {path}", "kind": "edit", "status": "pending",
             "content": [{"type": "diff", "path": path, "oldText": old.replace("\\n", "\n"),
                          "newText": new.replace("\\n", "\n")}]}
    params = {"sessionId": session["id"], "toolCall": asked, "options": OPTIONS}
    answered(session, start_call("session/request_permission", params))


def permits(session, rest):
    for answer in [ask(session, f"command {number}", OPTIONS) for number in range(int(rest))]:
        answered(session, answer)


def choose(session, rest):
    pairs = [entry.split("=") for entry in rest.split(",")]
    options = [{"optionId": f"o{at}", "kind": kind, "name": label} for at, (kind, label) in enumerate(pairs, 1)]
    answered(session, ask(session, "a choice", options))


def read(session, rest):
    try:
        path = os.path.join(session["cwd"], rest)
        say(session, "read: " + call(session, "fs/read_text_file", path=path).get("content", "?"))
    except Refused as error:
        say(session, f"read error: {error}")


def write_file(session, rest):
    path, _, content = rest.partition("=")
    try:
        call(session, "fs/write_text_file", path=os.path.join(session["cwd"], path), content=content)
        say(session, "written")
    except Refused as error:
        say(session, f"write error: {error}")


def term(session, rest, kill=False):
    try:
        terminal = call(session, "terminal/create", command="sh", args=["-c", rest])["terminalId"]
        number = f"call_{next(numbers)}"
        update(session, "tool_call", toolCallId=number, title=rest, kind="execute", status="in_progress",
               content=[{"type": "terminal", "terminalId": terminal}])
        if kill:
            call(session, "terminal/kill", terminalId=terminal)
        status = call(session, "terminal/wait_for_exit", terminalId=terminal)
        shown = call(session, "terminal/output", terminalId=terminal)
        call(session, "terminal/release", terminalId=terminal)
        update(session, "tool_call_update", toolCallId=number, status="completed")
        code = status.get("exitCode") if status.get("signal") is None else status["signal"]
        say(session, f"term {code}: {shown.get('output', '?')}")
    except Refused as error:
        say(session, f"term error: {error}")


def unknown_call(session, rest):
    try:
        call(session, rest)
        say(session, "call answered")
    except Refused as error:
        say(session, f"call error: {error}")


def child(session, rest):
    started = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    say(session, f"{started.pid} ")


def daemon(session, rest):
    script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"
    shown = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True)
    say(session, shown.stdout.decode().strip() + " ")


def shell(session, rest):
    done = subprocess.run(["sh", "-c", rest], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, close_fds=False, check=False)
    say(session, f"sh {done.returncode}: {done.stdout.decode()}")


def hang(session, rest):
    threading.Event().wait()


def go_deaf(session, rest):
    deaf.set()
    hang(session, rest)


def mask(session, rest):
    value = os.umask(0)
    os.umask(value)
    say(session, f"{value:04o}")


def refuse(session, rest):
    raise Finish({"stopReason": "refusal"})


def fail(session, rest):
    raise Finish(error={"code": -32603, "message": rest or "it failed"})


def partial(session, rest):
    write(b'{"jsonrpc":"2.0","method":"session/upd')
    os._exit(0)


def wrong(session, rest):
    write(b'[]\n{}\n"text"\n17\nnull\n{"jsonrpc":"2.0","id":99999,"result":{}}\n')
    send({"method": "session/update", "params": {"sessionId": "nobody", "update": {
        "sessionUpdate": "agent_message_chunk", "content": text("not for you")}}})
    send({"method": "session/update", "params": {"sessionId": session["id"], "update": {
        "sessionUpdate": "something_new", "content": 17}}})
    send({"method": "session/update", "params": 17})
    send({"method": "_unknown/notification"})


def costs(session, rest):
    read_tokens, written = map(int, rest.split(","))
    session["usage"] = {"totalTokens": read_tokens + written, "inputTokens": read_tokens, "outputTokens": written}


STEPS = {
    "say": say,
    "chunks": chunks,
    "flood": flood,
    "big": lambda session, rest: say(session, "x" * int(rest)),
    "stamp": stamp,
    "split": lambda session, rest: [say(session, letter) for letter in rest],
    "think": lambda session, rest: update(session, "agent_thought_chunk", content=text(rest)),
    "tool": tool,
    "toolfail": lambda session, rest: tool(session, "execute:" + rest, "failed"),
    "toolopen": lambda session, rest: tool(session, "execute:" + rest, None),
    "diff": diff,
    "plan": plan,
    "usage": lambda session, rest: update(session, "usage_update", used=int(rest.split(",")[0]),
                                          size=int(rest.split(",")[1])),
    "cost": costs,
    "bill": lambda session, rest: update(session, "usage_update", used=1, size=100,
                                         cost={"amount": float(rest), "currency": "USD"}),
    "permit": lambda session, rest: answered(session, ask(session, rest, OPTIONS)),
    "edit": edit,
    "permits": permits,
    "fetch": lambda session, url: answered(session, ask(session, url, [OPTIONS[0], OPTIONS[2]], "fetch", "url")),
    "choose": choose,
    "read": read,
    "write": write_file,
    "term": term,
    "termkill": lambda session, rest: term(session, rest, True),
    "call": unknown_call,
    "prompt": lambda session, rest: say(session, session["prompt"]),
    "session": lambda session, rest: say(session, f"{session['id']} {session['prompts']}"),
    "cwd": lambda session, rest: say(session, session["cwd"]),
    "pid": lambda session, rest: say(session, f"{os.getpid()} "),
    "child": child,
    "daemon": daemon,
    "sh": shell,
    "env": lambda session, rest: say(session, os.environ.get(rest, "(not set)")),
    "umask": mask,
    "stderr": lambda session, rest: print(rest, file=sys.stderr, flush=True),
    "touch": lambda session, rest: open(rest, "w", encoding="utf-8").close(),
    "await": lambda session, rest: wait(session, lambda: os.path.exists(rest)),
    "sleep": lambda session, rest: wait(session, lambda end=time.monotonic() + int(rest) / 1000:
                                        time.monotonic() >= end),
    "stall": lambda session, rest: wait(session, lambda: False),
    "hang": hang,
    "deaf": go_deaf,
    "crash": lambda session, rest: os._exit(int(rest or 1)),
    "refuse": refuse,
    "fail": fail,
    "garbage": lambda session, rest: write(b"this is no JSON \xff\xfe\n" * int(rest or 1)),
    "partial": partial,
    "wrong": wrong,
}


def steps_of(prompt):
    lines = prompt.strip().splitlines() or [""]
    steps = [step.strip() for step in lines[-1].split(";") if step.strip()]
    known = bool(steps) and all(step.partition(":")[0] in STEPS for step in steps)
    return steps if known else ["say:you said: " + prompt]


def perform(session, prompt):
    steps = steps_of(prompt)
    # Known from the beginning: a cancel may arrive between what a test waits for and the step that ignores it.
    session["patient"] = bool({"hang", "deaf"}.intersection(steps))
    for step in steps:
        name, _, rest = step.partition(":")
        if session["cancelled"].is_set() and not session["patient"]:
            raise Cancelled()
        STEPS[name](session, rest.replace("\\n", "\n").replace("\\s", ";"))


def prompt(number, params):
    session = sessions.get(params.get("sessionId"))
    if session is None:
        send({"id": number, "error": {"code": -32602, "message": "no such session"}})
        return
    session["cancelled"].clear()
    session["prompts"] += 1
    session["usage"] = None
    session["prompt"] = "".join(block.get("text", "") for block in params.get("prompt", []))
    try:
        perform(session, session["prompt"])
        answer = {"result": {"stopReason": "end_turn"}}
    except Cancelled:
        answer = {"result": {"stopReason": "cancelled"}}
    except Finish as end:
        answer = {"error": end.error} if end.error else {"result": end.result}
    except Exception as error:  # pylint: disable=broad-except
        answer = {"error": {"code": -32603, "message": f"the script is wrong: {error!r}"}}
    if session["usage"] and "result" in answer:
        answer["result"]["usage"] = session["usage"]
    send({"id": number, **answer})


# ---- the protocol ----

def new_session(name, cwd):
    sessions[name] = {"id": name, "cwd": cwd, "prompts": 0, "cancelled": threading.Event(), "patient": False,
                      "usage": None, "prompt": ""}
    return sessions[name]


def initialize(params):
    return {"protocolVersion": 9999 if "--old" in sys.argv else 1,
            "agentCapabilities": {"loadSession": "--no-load" not in sys.argv, "promptCapabilities": {}},
            "agentInfo": {"name": "scripted", "version": "1.0.0"},
            "authMethods": [{"id": "key", "name": "Log in with a key"}] if "--auth" in sys.argv else []}


def session_new(params):
    if "--auth" in sys.argv:
        raise Finish(error={"code": -32000, "message": "Authentication required"})
    name = f"scripted-{os.getpid()}-{len(sessions) + 1}"
    new_session(name, params["cwd"])
    models = [{"value": value, "name": value} for value in ("one", "two")]
    choice = {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "one",
              "options": models}
    return {"sessionId": name, "configOptions": [choice] if "--hold-model" in sys.argv else []}


def session_load(params):
    if not params["sessionId"].startswith("scripted-"):
        raise Finish(error={"code": -32602, "message": "no such session"})
    if "--hold-load" in sys.argv:
        held = sys.argv[sys.argv.index("--hold-load") + 1]
        while os.path.exists(held):
            time.sleep(0.02)
    session = new_session(params["sessionId"], params["cwd"])
    session["prompts"] = 100
    update(session, "user_message_chunk", content=text("an old prompt"))
    update(session, "agent_message_chunk", content=text("an old answer"))
    return {}


METHODS = {"initialize": initialize, "session/new": session_new, "session/load": session_load}


def handle(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        answer = waiting.pop(number, None)
        if answer is not None:
            answer.put(message)
    elif method == "session/cancel":
        session = sessions.get(params.get("sessionId"))
        if session is not None:
            session["cancelled"].set()
    elif method == "session/prompt":
        threading.Thread(target=prompt, args=(number, params), daemon=True).start()
    elif method == "session/set_config_option" and "--hold-model" in sys.argv:
        pass
    elif method in METHODS:
        if method == "initialize" and "--mute" in sys.argv:
            return
        try:
            send({"id": number, "result": METHODS[method](params)})
        except Finish as end:
            send({"id": number, "error": end.error})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "no such method"}})


def main():
    if "--crash" in sys.argv:
        print("it cannot start", file=sys.stderr, flush=True)
        sys.exit(7)
    if "--pid" in sys.argv:
        with open(sys.argv[sys.argv.index("--pid") + 1], "w", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    if "--garbage" in sys.argv:
        write(b"Welcome to the agent!\n\n")
    log = open(sys.argv[sys.argv.index("--log") + 1], "a", encoding="utf-8") if "--log" in sys.argv else None
    for line in sys.stdin.buffer:
        if log:
            log.write(line.decode())
            log.flush()
        handle(json.loads(line))
        if deaf.is_set():
            threading.Event().wait()
    os._exit(0)


main()
