#!/usr/bin/env python3
"""Records shells and REPLs: `shells.py OUTPUT [PROGRAM|PROGRAM/SCENARIO...]`.

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

VARIED = "16-varied"
RESIZED = "22-resize"
UP, BACK, TAB = "\x1b[A", "\x7f", "\t"
SHELL_VARIED = [
    T("printf 'ZQVA1\\nno end'", "ZQVA1\nno end"),
    T("cat notes.txt | tr -d '\\n'", "notes", marks=["notes"]),
    T("printf 'user@host:~/project$ ls\\nZQVB1\\n'", "user@host:~/project$ ls\nZQVB1"),
    T("clear; echo ZQVC1", "ZQVC1"),
    T("printf 'ZQVD1'; sleep 1.2; printf ' ZQVD2'", "ZQVD1 ZQVD2"),
    T("printf 'Password: '; sleep 1.5; echo ZQVE1", "Password: ZQVE1"),
    T("for i in 1 2 3; do printf '\\r%s%%' $i; sleep 0.2; done; printf '\\nZQVF1\\n'", "3%\nZQVF1"),
    T("echo ZQVG1 \\\n  ZQVG2", "ZQVG1 ZQVG2"),
    T(UP, "ZQVG1 ZQVG2", marks=["ZQVG2"]),
    T("echo ZQVHx" + BACK + "1", "ZQVH1", marks=["ZQVH1"]),
    T("cat no" + TAB, "notes", marks=["notes"]),
    T("echo " + "a long word and " * 9 + "ZQVI1", ("a long word and " * 9).strip() + " ZQVI1"),
    T("seq 3; printf 'ZQVJ1 $ '", "1\n2\n3\nZQVJ1 $ "),
    T("printf '\\033[2J\\033[HZQVK1\\n'", "ZQVK1"),
    T("tput smcup; echo gone; sleep 0.3; tput rmcup; echo ZQVL1", "ZQVL1"),
]
SHELL_RESIZED = [
    T("for i in 1 2 3 4 5 6; do printf 'row %s %080d\\n' $i 7; sleep 0.3; done; echo ZQSA1",
      "\n".join("row %d %s7" % (i, "0" * 79) for i in range(1, 7)) + "\nZQSA1", resize=[(0.8, 60, 20), (1.4, 120, 40)]),
    T("printf 'no end ZQSB1'; sleep 0.8; printf ' more'", "no end ZQSB1 more", resize=[(0.5, 90, 25)]),
    T("echo ZQSC1", "ZQSC1"),
]
SHELL[VARIED], SHELL[RESIZED] = SHELL_VARIED, SHELL_RESIZED

PYTHON = {
    VARIED: [
        T("def f(): print('ZQVA1'); return 'ZQVA2'\n", "", marks=[]),
        T("f()", "ZQVA1\n'ZQVA2'", marks=["ZQVA2"]),
        T("print('a\\n>>> b\\n>>> \\nZQVC1')", "a\n>>> b\n>>> \nZQVC1"),
        T("print('one', end=''); import time; time.sleep(1.2); print(' ZQVD1', end='')", "one ZQVD1"),
        T("for i in range(3): print(i, end=' ')\n", "0 1 2 "),
        T("[print('ZQVE1'),\n1]", "ZQVE1\n[None, 1]", marks=["ZQVE1", "[None"]),
        T("import os; _ = os.system('printf ZQVF1')", "ZQVF1"),
        T("x = 'ZQVG'", ""),
        T("x + '1'", "'ZQVG1'"),
        T(UP, "'ZQVG1'", marks=["ZQVG1"]),
    ],
    RESIZED: [
        T("import time", ""),
        T("for i in range(6): print('row', i, '0' * 80, flush=True); time.sleep(0.3)\n",
          "\n".join("row %d %s" % (i, "0" * 80) for i in range(6)), marks=["row"], resize=[(0.8, 60, 20), (1.4, 120, 40)]),
        T("print('ZQSB1', end='')", "ZQSB1"),
    ],
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
    VARIED: [
        T('shell printf ZQVA1', "ZQVA1"),
        T('python import sys; n = sys.stdout.write("ZQVB1"); sys.stdout.flush()', "ZQVB1"),
        T('echo one\\ntwo ZQVC1', "one\ntwo ZQVC1"),
        T('python print("(gdb) quit"); print("(gdb) "); print("ZQVD1")', "(gdb) quit\n(gdb) \nZQVD1"),
        T('python\nprint("ZQVE1", end="", flush=True)\nend', "ZQVE1"),
        T('printf "a"', "a", marks=["a"]),
        T('output 5', "5", marks=["5"]),
        T('nosuch', 'Undefined command: "nosuch".  Try "help".', marks=["Undefined"]),
    ],
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
    VARIED: [
        T("process.stdout.write('ZQVA1\\n')", "ZQVA1\ntrue"),
        T("process.stdout.write('ZQVB1')", "ZQVB1true"),
        T("function f() {\nreturn 'ZQVC1'\n}", "undefined", marks=["undefined"]),
        T("f()", "'ZQVC1'", marks=["ZQVC1"]),
        T("await new Promise(done => setTimeout(done, 1500)); 'ZQVD1'", "'ZQVD1'"),
        T("console.log('> a\\n> \\nZQVE1')", "> a\n> \nZQVE1\nundefined"),
        T("throw new Error('ZQVF1')", None, marks=["ZQVF1"]),
        T("let y = 3", "undefined", marks=["undefined"]),
        T(UP, None, marks=["SyntaxError"]),
    ],
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
    VARIED: [
        T("select 'ZQVA1'\n;", "ZQVA1"),
        T("select 'a' || char(10) || 'sqlite> ' || char(10) || 'ZQVB1';", "a\nsqlite> \nZQVB1"),
        T(".separator , \"\"", ""),
        T("select 'ZQVC1';", "ZQVC1"),
        T("select 'one' || char(10) || 'ZQVD1';", "one\nZQVD1"),
        T(".mode box", ""),
        T("select 'ZQVE1' as a;", "┌───────┐\n│   a   │\n├───────┤\n│ ZQVE1 │\n└───────┘"),
        T(".shell printf ZQVF1", "ZQVF1"),
    ],
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
PSQL = {
    NO_NEWLINE: [
        T("\\echo -n ZQNA1", "ZQNA1"),
        T("\\! printf ZQNB1", "ZQNB1"),
        T("select 'ZQNC1' as a;", "   a   \n-------\n ZQNC1\n(1 row)"),
    ],
    LIKE: [
        T("\\echo postgres=# ZQLA1", "postgres=# ZQLA1"),
        T("select pg_sleep(1.5), 'ZQLB1' as a;", None, marks=["ZQLB1"]),
        T("\\! printf 'postgres=# '; sleep 0.6; echo ZQLC1", "postgres=# ZQLC1"),
    ],
    PASTED: [
        T("\\echo ZQPA1\n\\echo ZQPA2\n", "ZQPA1\nZQPA2", paste=True),
        T("select\n 'ZQPB1' as a\n;", None, marks=["ZQPB1"]),
    ],
    MIXED: [
        T("create temp table t (x text);", "CREATE TABLE", marks=["CREATE"]),
        T("insert into t values ('ZQMA1');", "INSERT 0 1", marks=["INSERT"]),
        T("select nothing;", None, marks=["ERROR"]),
        T("\\t", "Tuples only is on.", marks=["only"]),
        T("select * from t;", " ZQMA1\n", marks=["ZQMA1"]),
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
    Program("python3-pyrepl", [PY313], r">>>$", dict(PYTHON, **{VARIED: PYTHON[VARIED][:-1]}), named=["python3.13"]),
    Program("gdb", ["gdb", "-q"], r"\(gdb\)$", GDB),
    Program("node", ["node"], r">$", NODE),
    Program("sqlite3", ["sqlite3", ":memory:"], r"sqlite>$", SQLITE),
    Program("psql", ["psql", "-X", "-h", os.environ.get("PGHOST", "/tmp"), "-U", "postgres"], r"postgres=#$", PSQL, {"PAGER": "cat"}, named=["psql"]),
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
                first, *others = text.rstrip("\n").split("\n")
                session.keys(first)
                session.pump(0.1)
                submit = {"offset": session.offset, "t": session.now()}
                session.write("\r")
                # The program asks for the rest.
                for line in others:
                    session.pump(0.2)
                    session.keys(line + "\r")
                if text.endswith("\n"):
                    session.pump(0.3)
                    session.write("\r")
            for at, cols, rows in turn.get("resize", []):
                session.pump(max(0, submit["t"] + at - session.now()))
                session.resize(cols, rows)
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
        for scenario, turns in program.scenarios.items():
            if only and not {program.folder, program.folder + "/" + scenario} & set(only):
                continue
            try:
                record(program, scenario, turns, out)
            except SystemExit as error:
                print("FAILED", program.folder, scenario, str(error)[-600:], flush=True)


main()
