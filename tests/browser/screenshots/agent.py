"""The agent of the tests' screens with texts that fit into a picture: answers from a table, and one dialog."""

import os
import signal
import sys
import termios
import textwrap
import tty

SOURCE = os.path.join(os.path.dirname(__file__), "../../../crates/cli/tests/support/screen_agent.py")
with open(SOURCE, encoding="utf-8") as file:
    # Everything but the last part, which runs it.
    exec(file.read().split("\nbefore = ")[0])  # pylint: disable=exec-used

ANSWERS = {
    "Why does the checkout test fail?":
        "The test **races with the clock**: `expires_at` is compared in seconds, the token is made in milliseconds.\n\n"
        "1. `Token::new` rounds down, so a token can expire before it was made.\n"
        "2. The test passes whenever both fall into the same second.\n\n"
        "I would keep milliseconds everywhere and round only for display.",
    "Do that, and add a test.":
        "Done. `expires_at` is in milliseconds now:\n\n"
        "```rust\nlet expires_at = created_at + lifetime.as_millis();\nassert!(token.is_valid_at(created_at));\n```\n\n"
        "The new test makes 1000 tokens around a full second; all 214 tests pass.",
}


class PictureAgent(Agent):  # noqa: F821
    def paint(self):
        columns = os.get_terminal_size().columns
        globals()["RULE"] = "─" * columns
        lines = self.lines
        self.lines = [row for line in lines for row in textwrap.wrap(line, columns, subsequent_indent="  ") or [""]]
        super().paint()
        self.lines = lines

    def do(self, text):
        if text in ANSWERS:
            self.work(0.2)
            self.note("session.jsonl", text, ANSWERS[text])
            self.lines += ["❯ " + text, ""]
            plain = ANSWERS[text].replace("**", "").replace("```rust\n", "").replace("`", "").replace("\n\n", "\n").splitlines()
            self.lines += [("● " if at == 0 else "  ") + line for at, line in enumerate(plain)] + [""]
        else:
            self.lines += ["❯ " + text]
            self.work(0.2)
            self.answer("it " + self.ask("cargo sqlx migrate run --source db/migrations"))


before = termios.tcgetattr(0)
tty.setraw(0)
try:
    agent = PictureAgent()
    signal.signal(signal.SIGWINCH, lambda *_: agent.paint())
    agent.run()
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
    sys.stdout.flush()
