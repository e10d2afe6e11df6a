#!/usr/bin/env python3
"""Records shells and REPLs: `shells.py OUTPUT [PROGRAM...]`.

Each turn is what is typed and the answer, which is known beforehand. Needs pyte and the programs.
"""

import base64
import os
import re
import subprocess
import sys

from recorder import Session, write

PY313 = os.environ.get("PYTHON313", "python3.13")
BASH = ["bash", "--norc", "--noprofile", "-i"]


def markers(answer):
    return re.findall(r"ZQ[A-Z0-9]+", answer)


class Program:
    def __init__(self, folder, argv, prompt, scenarios, env=None, named=None, first=()):
        self.folder, self.argv, self.prompt, self.scenarios = folder, argv, prompt, scenarios
        self.env, self.named, self.first = env or {}, named or argv, first


def T(text, answer, **more):
    """A turn: the input, typed, and its exact answer; None where only its `marks` are known."""
    return dict(more, input=text, answer=answer)


NO_NEWLINE = "11-no-newline"
LIKE = "12-like-a-prompt"
PASTED = "13-pasted"
MIXED = "14-mixed"

SHELL = {
    NO_NEWLINE: [
        T("printf 'ZQNA1'", "ZQNA1"),
        T("echo ZQNB1; printf 'two words ZQNB2'", "ZQNB1\ntwo words ZQNB2"),
        T("printf '\\033[31mred ZQNC1\\033[m'", "red ZQNC1"),
        T("printf 'wait for it... '; sleep 0.4; printf 'ZQND1'", "wait for it... ZQND1"),
        T("printf '%0100d ZQNE1' 7", "0" * 99 + "7 ZQNE1"),
        T("echo ZQNF1", "ZQNF1"),
    ],
    LIKE: [
        T("echo 'user@host:~/project$ '; echo ZQLA1", "user@host:~/project$\nZQLA1"),
        T("printf 'user@host:~/project$ '; sleep 0.6; echo ZQLB1", "user@host:~/project$ ZQLB1"),
        T("printf '$ '; sleep 0.5; echo ZQLC1", "$ ZQLC1"),
        T("echo '> '; sleep 0.5; echo '# '; sleep 0.3; echo ZQLD1", "> \n# \nZQLD1"),
    ],
    PASTED: [
        T("echo ZQPA1\necho ZQPA2", "ZQPA1\nZQPA2", paste=True),
        T("echo ZQPB1\nsleep 0.5\necho ZQPB2\nprintf ZQPB3", "ZQPB1\nZQPB2\nZQPB3", paste=True),
        T("for n in 1 2\ndo\n echo ZQPC$n\ndone", "ZQPC1\nZQPC2", paste=True),
        T("cat <<END\nZQPD1 body\nEND", "ZQPD1 body", paste=True),
    ],
    MIXED: [
        T("true", ""),
        T("printf 'a\\n\\n\\nZQMA1\\n'", "a\n\n\nZQMA1"),
        T("echo ZQMB1 >&2; false", "ZQMB1"),
        T("seq 1 60 | tail -3; echo ZQMC1", "58\n59\n60\nZQMC1"),
        T("echo '  ZQMD1 indented'", "  ZQMD1 indented"),
        T("printf '50%%\\r100%% ZQME1\\n'", "100% ZQME1"),
    ],
}
# Lines sent at once, without bracketed paste: each runs when the one before is done.
LINES = {"15-lines": [
    T("echo ZQRA1\necho ZQRA2", "ZQRA1\nZQRA2", lines=True),
    T("echo ZQRB1\nsleep 0.4\necho ZQRB2", "ZQRB1\nZQRB2", lines=True),
]}

PYTHON = {
    NO_NEWLINE: [
        T("print('ZQNA1', end='')", "ZQNA1"),
        T("import sys; _ = sys.stdout.write('one\\ntwo ZQNB1')", "one\ntwo ZQNB1"),
        T("print('x' * 120 + 'ZQNC1', end='')", "x" * 120 + "ZQNC1"),
        T("print('ZQND1')", "ZQND1"),
        T("1 + 1", "2"),
    ],
    LIKE: [
        T("print('>>> ZQLA1')", ">>> ZQLA1"),
        T("import time; print('>>> '); time.sleep(0.5); print('ZQLB1')", ">>> \nZQLB1"),
        T("print('>>> ', end='', flush=True); time.sleep(0.6); print('ZQLC1')", ">>> ZQLC1"),
        T("print('... ', end='', flush=True); time.sleep(0.4); print('ZQLD1')", "... ZQLD1"),
    ],
    PASTED: [
        T("print('ZQPA1')\nprint('ZQPA2')\n", "ZQPA1\nZQPA2", paste=True),
        T("def f():\n    return 'ZQPB1'\n\nprint(f())\n", "ZQPB1", paste=True),
    ],
    MIXED: [
        T("for n in range(2): print('ZQMA%d' % n)\n", "ZQMA0\nZQMA1"),
        T("'ZQMB1'", "'ZQMB1'"),
        T("raise ValueError('ZQMC1')", None, marks=["ZQMC1"]),
    ],
}
GDB = {
    NO_NEWLINE: [
        T('printf "ZQNA1"', "ZQNA1"),
        T("echo ZQNB1", "ZQNB1"),
        T('printf "one\\ntwo ZQNC1"', "one\ntwo ZQNC1"),
        T("print 6 * 7", "$1 = 42"),
        T("echo ZQND1\\n", "ZQND1"),
    ],
    LIKE: [
        T("echo (gdb) ZQLA1\\n", "(gdb) ZQLA1"),
        T('python print("(gdb) ", end="", flush=True); import time; time.sleep(0.6); print("ZQLB1")', "(gdb) ZQLB1"),
    ],
}
NODE = {
    NO_NEWLINE: [
        T("process.stdout.write('ZQNA1') && undefined", "ZQNA1undefined"),
        T("console.log('ZQNB1')", "ZQNB1\nundefined"),
        T("'ZQNC1'", "'ZQNC1'"),
    ],
    LIKE: [
        T("console.log('> '); console.log('ZQLA1')", "> \nZQLA1\nundefined"),
        T("process.stdout.write('> '); for (const t = Date.now(); Date.now() - t < 600;); console.log('ZQLB1')", "> ZQLB1\nundefined"),
    ],
    PASTED: [
        T("console.log('ZQPA1')\nconsole.log('ZQPA2')\n", "ZQPA1\nundefined\nZQPA2\nundefined", lines=True),
    ],
}
SQLITE = {
    LIKE: [
        T("select 'sqlite> ZQLA1';", "sqlite> ZQLA1"),
        T("select 'sqlite> '; select 'ZQLB1';", "sqlite> \nZQLB1"),
        T(".print sqlite>", "sqlite>", marks=["sqlite>"]),
    ],
    PASTED: [
        T("select 'ZQPA1';\nselect 'ZQPA2';\n", "ZQPA1\nZQPA2", lines=True),
        T("select\n 'ZQPB1';\n", "ZQPB1", lines=True),
    ],
    MIXED: [
        T("create table t (x);", ""),
        T("insert into t values ('ZQMA1'), ('ZQMA2'); select * from t;", "ZQMA1\nZQMA2"),
        T("select nothing;", None, marks=["Parse error", "nothing"]),
    ],
}
LUA = {
    NO_NEWLINE: [
        T("io.write('ZQNA1') and nil", "ZQNA1nil"),
        T("do io.write('ZQNB1') end", "ZQNB1"),
        T("print('ZQNC1')", "ZQNC1"),
    ],
    LIKE: [
        T("print('> ZQLA1')", "> ZQLA1"),
        T("do io.write('> ') io.flush() os.execute('sleep 0.6') print('ZQLB1') end", "> ZQLB1"),
    ],
}
PHP = {
    NO_NEWLINE: [
        T('echo "ZQNA1";', "ZQNA1"),
        T('echo "one\\ntwo ZQNB1";', "one\ntwo ZQNB1"),
        T('echo "ZQNC1\\n";', "ZQNC1"),
    ],
}
IRB = {
    MIXED: [
        T('puts "ZQMA1"', "ZQMA1\n=> nil"),
        T('print "ZQMB1"', "ZQMB1=> nil"),
        T('"ZQMC" + "1"', '=> "ZQMC1"'),
    ],
}
REDIS = {
    MIXED: [
        T("echo ZQMA1", '"ZQMA1"'),
        T("set k ZQMB1", "OK"),
        T("get k", '"ZQMB1"'),
        T("echo '127.0.0.1:6399> ZQMC1'", '"127.0.0.1:6399> ZQMC1"'),
    ],
}
GUILE = {
    NO_NEWLINE: [
        T('(display "ZQNA1")', "ZQNA1"),
        T('(begin (display "one\\ntwo ZQNB1") (newline))', "one\ntwo ZQNB1"),
        T('(+ 40 2)', "$1 = 42"),
    ],
}
PS1 = {"PS1": "user@host:~/project$ "}

PROGRAMS = [
    Program("bash", BASH, r"user@host:~/project\$$", dict(SHELL, **LINES), PS1),
    Program("zsh", ["zsh", "-f", "-i"], r"user@host:~/project\$$", dict(SHELL, **LINES),
            {"PS1": "user@host:~/project$ ", "PROMPT": "user@host:~/project$ "}),
    Program("bash-plain", BASH, r"user@host:~/project\$$", dict(SHELL, **LINES),
            dict(PS1, INPUTRC="/home/user/.plain-inputrc")),
    Program("bash-osc133", BASH, r"user@host:~/project\$$",
            {NO_NEWLINE: SHELL[NO_NEWLINE][:3], PASTED: SHELL[PASTED][:3], "15-lines": LINES["15-lines"]},
            {"PS1": "\\[\\e]133;D;$?\\a\\e]133;A\\a\\]user@host:~/project$ \\[\\e]133;B\\a\\]", "PS0": "\\e]133;C\\a"}),
    Program("zsh-two-lines", ["zsh", "-f", "-i"], r"^#$",
            {NO_NEWLINE: SHELL[NO_NEWLINE][:2], MIXED: SHELL[MIXED][:3]}, {"PROMPT": "~/project on main\n%# "}),
    Program("fish", ["fish", "--no-config", "-C", "function fish_prompt; echo -n 'user@host ~/project> '; end"], r"project>$",
            {NO_NEWLINE: SHELL[NO_NEWLINE][:2], MIXED: SHELL[MIXED][1:3]}, named=["fish"]),
    Program("dash", ["dash", "-i"], r"^.*\$$", {NO_NEWLINE: SHELL[NO_NEWLINE], LIKE: SHELL[LIKE][:1]}, {"PS1": "$ "}),
    Program("python3", ["/usr/bin/python3"], r">>>$", PYTHON, named=["python3"]),
    Program("python3-pyrepl", [PY313], r">>>$", PYTHON, named=["python3.13"]),
    Program("gdb", ["gdb", "-q"], r"\(gdb\)$", GDB),
    Program("node", ["node"], r">$", NODE),
    Program("sqlite3", ["sqlite3", ":memory:"], r"sqlite>$", SQLITE),
    Program("lua", ["lua5.4"], r">$", LUA, named=["lua5.4"]),
    Program("php", ["php", "-a"], r"php >$", PHP),
    Program("irb", ["irb", "--nomultiline"], r"irb\(main\):\d+:\d+[>*]$|irb\(main\):\d+>$", IRB),
    Program("redis-cli", ["redis-cli", "-p", "6399"], r"127\.0\.0\.1:6399>$", REDIS),
    Program("guile", ["guile", "--no-auto-compile"], r"scheme@\(guile-user\)>$", GUILE),
]


def prepare():
    os.makedirs("/home/user/project", exist_ok=True)
    for name, text in [("README.md", "# A project\n"), ("hello.py", "print('hello')\n"), ("notes.txt", "notes\n")]:
        with open("/home/user/project/" + name, "w") as file:
            file.write(text)
    with open("/home/user/.plain-inputrc", "w") as file:
        file.write("set enable-bracketed-paste off\n")


def record(program, scenario, turns, out):
    session = Session(program.argv, env=program.env)
    at_prompt = lambda: bool(re.search(program.prompt, session.line()))
    try:
        session.settle(at_prompt)
        ready0 = {"offset": session.offset, "t": session.now()}
        expected = []
        for n, turn in enumerate(turns, 1):
            text, answer = turn["input"], turn["answer"]
            typed = {"offset": session.offset, "t": session.now()}
            words = turn.get("marks") or markers(answer)
            if turn.get("paste") and session.modes.get(2004):
                session.paste(text)
                submit = {"offset": session.offset, "t": session.now()}
                session.write("\r")
            elif turn.get("paste") or turn.get("lines"):
                # Without bracketed paste every line is submitted as it comes.
                submit = typed
                session.write(text.rstrip("\n").replace("\n", "\r") + "\r")
            else:
                session.keys(text.rstrip("\n").replace("\n", "\r"))
                session.pump(0.1)
                submit = {"offset": session.offset, "t": session.now()}
                session.write("\r")
                if text.endswith("\n"):
                    session.pump(0.3)
                    session.write("\r")
            last = words[-1].encode() if words else b""
            session.settle(lambda: at_prompt() and session.offset > submit["offset"]
                           and raw_from(session, submit["offset"]).count(last) >= 1)
            expected.append({
                "n": n, "input": text, "paste": bool(turn.get("paste") or turn.get("lines")),
                "typed_offset": typed["offset"], "typed_t": typed["t"],
                "submit_offset": submit["offset"], "submit_t": submit["t"],
                "ready_offset": session.offset, "ready_t": session.now(), "interrupted": False,
                "answer": answer, "markers": words, "markers_on_screen": words, "alt_screen": False})
        version = version_of(program)
        write(os.path.join(out, program.folder, scenario), session, program.folder, version, program.named,
              scenario, ready0, expected, (100, 30))
        print(program.folder, scenario, len(expected), flush=True)
    finally:
        session.close()


def raw_from(session, offset):
    """The output since then."""
    data = b"".join(base64.b64decode(event["b64"]) for event in session.events if event["d"] == "o")
    return data[offset:]


def version_of(program):
    flag = {"lua5.4": "-v", "dash": None}.get(program.argv[0], "--version")
    if flag is None:
        return ""
    done = subprocess.run([program.argv[0], flag], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"\d+\.\d+(?:\.\d+)?", done.stdout)
    return found.group(0) if found else ""


def main():
    out, only = sys.argv[1], sys.argv[2:]
    prepare()
    for program in PROGRAMS:
        if only and program.folder not in only:
            continue
        for scenario, turns in program.scenarios.items():
            try:
                record(program, scenario, turns, out)
            except SystemExit as error:
                print("FAILED", program.folder, scenario, str(error)[-600:], flush=True)


main()
