"""Answers of mixed kinds, and how a turn's text is compared with them.

An agent shows an answer in its own way: Markdown is drawn, lines are wrapped, tables get frames. So
both sides are reduced to the same before they are compared (`Comparison`).
"""

import difflib
import re

LISTS = """Three lists follow here.

- alpha item of the first list
- beta item with **bold** and `code` words
- gamma item

1. first step
2. second step
   - nested amber
   - nested bronze
3. third step

* starred one
* starred two"""

CODE = """The code has blank lines of two sorts.

```python
import math


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2


def main():
    print(Circle(2).area())
```

It ends with a second block.

```
plain block

with a gap
    and an indented line
```"""

TABLE = """Here is a table of metals.

| metal | symbol | melts at |
| --- | :---: | ---: |
| iron | Fe | 1538 |
| copper | Cu | 1085 |
| mercury | Hg | 38 below |

The table is above this sentence."""

CJK = """これは日本語の回答です。端末では全角文字が二列を占めます。

中文也一样：这一段文字足够长，必须在八十列或者一百二十列的终端里换行显示，而且不能丢失任何一个字符，也不能重复任何一个字符，直到这一句话结束为止。

한국어 문장도 하나 있습니다. 끝."""

EMOJI = """Plain ones: 😀 🎉 🚀 done.

Joined: 👩‍👩‍👧‍👦 family, 👩🏽‍💻 coder, 🏳️‍🌈 rainbow.

Flags: 🇩🇪 🇯🇵 🇧🇷 and keycap 1️⃣ and heart ❤️ end.

- ✅ item with a check
- ⚠️ item with a warning"""

# What each agent shows itself: prompt, spinner, dialog, frame.
LOOKALIKES = {
    "claude": ["❯ run the tests", "● Bash(ls)", "✻ Pondering… (3s · esc to interrupt)", "❯ 1. Yes",
               "────────────────────────", "? for shortcuts"],
    "codex": ["› Explain this codebase", "• Working (3s • esc to interrupt)", "› 1. Yes, proceed (y)",
              "Press enter to confirm or esc to cancel", "100% context left"],
    "gemini": [" > Type your message", "✦ I am done", "⠋ Thinking (esc to cancel, 3s)", "│ ● 1. Allow once │",
               "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄"],
    "opencode": ["┃  Build · Stub", "╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀", "■■⬝⬝ esc interrupt", "△ Permission required",
                 "▣  Build · stub-model · 1.2s"],
    "aider": ["ask>", "> ", "Run it? (Y)es/(N)o [Yes]:", "Tokens known to be sent", "────────────────────────"],
}
SHELLS = ["user@host:~$ ", ">>> ", "$ ls", "╭──────────╮", "│ in a box │", "╰──────────╯"]

WORD = "Yes"

BLANKS = """First paragraph of five.



Second, after three blank lines.

\u00a0

Third, after a blank that is none.
   
Fourth, after a line of spaces.

---

Fifth, after a rule."""

PARAGRAPH = " ".join("%s number %d is followed by" % (word, n) for n, word in enumerate(
    "apple birch cedar daisy elder fern grape hazel iris juniper kale lilac maple nettle olive pine quince rose"
    " sage thyme".split(), 1)) + " the end."

LONG_WORD = "An unbroken word: " + "".join("abcdefghij%02dX" % n for n in range(24)) + " and some words after it."


def many_lines(tag, count=300):
    """Lines that differ from each other, as paragraphs of a list would."""
    return "\n".join("- %s line %03d of %d says %s" % (tag, n, count, "odd" if n % 2 else "even things")
                     for n in range(1, count + 1))


def lookalikes(agent):
    """Text that looks like the agent, in a block and, where Markdown lets it, outside of one."""
    rows = LOOKALIKES[agent] + SHELLS
    return ("These rows are an answer.\n\n```\n%s\n```\n\n%s\n\nThe last row follows.\n\n```\n%s\n```"
            % ("\n".join(rows), LOOKALIKES[agent][0].strip(), LOOKALIKES[agent][0]))


class Prompt:
    """A question of one kind: what is answered at which pace, and what is done in between."""

    def __init__(self, kind, pieces, pace=None, small=False, decisions=(), whole_words=True):
        self.kind, self.pace, self.small, self.decisions = kind, pace or {}, small, decisions
        self.pieces = [pieces] if isinstance(pieces, str) else pieces
        # Agents break lines between words, but CJK text anywhere, and a word only when it is longer than the screen.
        self.whole_words = whole_words
        self.word = "Q%sQ" % kind.upper()

    def question(self, agent):
        return (agent.tool_prefix if self.decisions else "") + "Please answer " + self.word

    def rules(self, agent, version):
        """The server's rules for it: one, or one before and one after each tool."""
        if not self.decisions:
            return [dict(self.pace, match=self.word, text=self.pieces[0], **agent.rule)]
        files = ["%s%d.txt" % (self.kind, n) for n in range(1, len(self.decisions) + 1)]
        return agent.tool_chain(self.word, self.pieces, files, version)


def prompts(agent):
    """The twenty prompts."""
    quick = dict(chunk=100000, delay_ms=0, first_delay_ms=0)
    alike = lookalikes(agent)
    return [
        Prompt("lists", LISTS),
        Prompt("code", CODE),
        Prompt("table", TABLE),
        Prompt("cjk", CJK, whole_words=False),
        Prompt("emoji", EMOJI),
        Prompt("alike", alike, dict(pause_after=["```\n" + LOOKALIKES[agent][0], "╰──────────╯\n"], pause_ms=2500)),
        Prompt("lines", many_lines("stream"), dict(chunk=60, delay_ms=15)),
        Prompt("word", WORD),
        Prompt("blanks", BLANKS),
        Prompt("bang", "!important is how this begins\n\nand it goes on."),
        Prompt("slash", "/clear is a command, and `/help` is one more."),
        Prompt("quick", "Said at once.\n\n- without any delay\n- in one piece", quick),
        Prompt("slow", "One part is here.\n\nThe second part comes late, and in its middle is a stop: go on.\n\n- the end",
               dict(pause_after=["here.", "stop: "], pause_ms=3000)),
        Prompt("approved", ["I will make it now.", "It is made, said **afterwards**.\n\n- twice"], decisions=["approve"]),
        Prompt("wrapped", PARAGRAPH, small=True),
        Prompt("again", PARAGRAPH, small=True),
        Prompt("longword", LONG_WORD, small=True, whole_words=False),
        Prompt("burst", many_lines("burst"), dict(chunk=4000, delay_ms=20), small=True),
        Prompt("tools", ["Before both tools.\n\nA second paragraph.", "Between the two of them.", "After both, at last."],
               small=True, decisions=["approve", "approve"]),
        # The last one: claude joins what is asked after a denial to it.
        Prompt("denied", ["I would like to make it.", "It was not made."], small=True, decisions=["deny"]),
    ]


GAP = "[lines not shown]"
# Marks of Markdown, and what is drawn for them.
MARKS = re.compile(r"[*#`|>_~+\-—•◦▪‣●∙⏺✦\u2500-\u259f]")
FENCE = re.compile(r"^\s*```\w*\s*$")
TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*$")


NUMBER = re.compile(r"^(\d+)\.$")


def _words(text):
    """The words without marks; the point after the number of an item is one too."""
    return [word for word in (NUMBER.sub(r"\1", MARKS.sub("", word)) for word in text.split()) if word]


def _outside_code(markdown):
    """The lines of an answer as they are shown, without fences and rules of tables."""
    return [line for line in markdown.split("\n") if not FENCE.match(line) and not TABLE_RULE.match(line)]


def _blocks(markdown):
    """The lines of each block of code."""
    blocks, block = [], None
    for line in markdown.split("\n"):
        if FENCE.match(line):
            if block is not None:
                blocks.append(block)
            block = [] if block is None else None
        elif block is not None:
            block.append(line)
    return blocks


def _code_at(lines, block, start):
    """Where the block is in the lines from `start` on, if every line of it is there as it was sent, blank ones included. In front of each
    may be blanks, a frame, and its number."""
    shown = [line.rstrip() for line in block]
    for at in range(start, len(lines) - len(shown) + 1):
        there = lines[at:at + len(shown)]
        if not there[0].endswith(shown[0]):
            continue
        width = len(there[0]) - len(shown[0])
        front = [line[:width] for line in there]
        if all(re.fullmatch(r"[\s│┃\d]*", part) for part in front) and [l[width:] for l in there] == shown:
            return at
    return None


class Comparison:
    """A turn's text beside the answer that was sent.

    Equal means: the words are the same in the same order (with `whole_words` false: the characters), without
    marks of Markdown and what is drawn for them; and each block of code is there line by line. Where the agent used
    tools, the pieces of the answer have to be there in order, and what stands between them is its own (`besides`).
    Where `[lines not shown]` stands, lines may be missing (`missing`). A text from the agent's session file (`written`) is
    what was sent, character by character.
    """

    def __init__(self, prompt, pieces, text, written=False):
        self.besides, self.missing, self.complaints = [], 0, []
        if written:
            self.sent, self.shown = "\n\n".join(pieces).split("\n"), text.split("\n")
            if self.sent != self.shown:
                self.complaints.append("the text is not the Markdown that was sent")
            return
        lines = [line.rstrip() for line in text.split("\n")]
        end = 0
        for block in (block for piece in pieces for block in _blocks(piece)):
            at = _code_at(lines, block, end)
            if at is None:
                self.complaints.append("a block of code is not as it was sent")
            else:
                end = at + len(block)
                lines[at:end] = block
        sent = [line for piece in pieces for line in _outside_code(piece)]
        self.sent, self.shown = sent, lines
        if prompt.decisions:
            self._in_order(pieces, "\n".join(lines))
        elif GAP in lines:
            self._with_gaps(sent, lines)
        elif not self._same("\n".join(sent), "\n".join(lines), prompt.whole_words):
            self.complaints.append("the text is not the answer")

    @staticmethod
    def _same(sent, shown, whole_words):
        sent, shown = _words(sent), _words(shown)
        return sent == shown if whole_words else "".join(sent) == "".join(shown)

    def _in_order(self, pieces, text):
        shown = _words(text)
        for piece in pieces:
            words = _words("\n".join(_outside_code(piece)))
            at = next((at for at in range(len(shown) - len(words) + 1) if shown[at:at + len(words)] == words), None)
            if at is None:
                self.complaints.append("this is missing, or at another place: %s" % " ".join(words[:8]))
                continue
            self.besides += shown[:at]
            shown = shown[at + len(words):]
        self.besides += shown

    def _with_gaps(self, sent, lines):
        """Every line is a line of the answer, or the beginning of one that was never drawn to its end, in its order."""
        sent = ["".join(_words(line)) for line in sent]
        at = 0
        for line in ("".join(_words(line)) for line in lines if line != GAP):
            found = next((n for n in range(at, len(sent)) if sent[n].startswith(line)), None)
            if found is None:
                self.complaints.append("between gaps the text is not the answer: %s" % line)
                return
            self.missing += sum(map(len, sent[at:found])) + len(sent[found]) - len(line)
            at = found + bool(line)
        self.missing += sum(map(len, sent[at:]))

    def diff(self, most=24):
        """The lines that differ, those of the answer with a minus."""
        side = lambda lines: [" ".join(_words(line)) for line in lines if _words(line)]
        rows = difflib.unified_diff(side(self.sent), side(self.shown), "sent", "turn", n=1, lineterm="")
        return list(rows)[2:most + 2]
