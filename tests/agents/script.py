"""What is asked, what the stub server answers, and how an answer is known again.

Every question has a word of its own, by which the server chooses the answer, and every answer has
words of its own, which have to be in the turn's text while the question's must not.
"""

import re

ANSWER = """The {name} answer {step} begins with {first} here.

- one item in a list
- another item with **bold** words

```
a line of code, number {step}
```

A line that is long enough to be broken by a terminal of eighty columns, and by one of a hundred too, ends it.

The last word is {last}."""

# A slow answer takes about six seconds: time to attach, or to end the daemon, in its midst.
PACE = {"ask": {}, "attach": {"chunk": 6, "delay_ms": 90}, "relay": {"first_delay_ms": 2500},
        "crash": {}, "midturn": {"chunk": 6, "delay_ms": 90},
        "chat": {"chunk": 6, "delay_ms": 60}, "stop": {"chunk": 3, "delay_ms": 200}, "resumed": {}, "enter": {}}
STEPS = tuple(PACE)
# What an agent does on command; "denied" is what it may not do.
TOOLS = ("approved", "denied")


class Exchange:
    """One question to one session, and its answer."""

    def __init__(self, session, step):
        tag = re.sub(r"[^A-Z0-9]", "", session.upper()) + step.upper()
        self.word = "Q" + tag + "Q"
        self.question = "Please say something about " + self.word
        self.markers = ["ZA" + tag + "Z", "ZB" + tag + "Z"]
        self.answer = ANSWER.format(name=session, step=step, first=self.markers[0], last=self.markers[1])
        self.step = step

    def rules(self, agent, relayed):
        """The server's rules for it. A relayed question counts only with all of what was relayed."""
        match = self.word
        if relayed is not None:
            match += r"[\s\S]*" + r"[\s\S]*".join(relayed.markers)
        return dict(PACE.get(self.step, {}), match=match, text=self.answer, **agent.rule)

    def complaint(self, text):
        """What is wrong with a text that should be the answer, or None."""
        position = 0
        for marker in self.markers:
            found = text.find(marker, position)
            if found < 0:
                return "%s is missing" % marker if marker not in text else "%s is out of order" % marker
            position = found + len(marker)
        if self.word in text:
            return "the question is in it"
        if any(ord(c) < 32 and c not in "\n\t" or c == "\x7f" for c in text):
            return "there are control characters in it"
        return None

    def extra(self, text):
        """Words of the text that are not in the answer: what the agent showed besides."""
        known = set(re.findall(r"\w+", self.answer))
        return [word for word in re.findall(r"\w+", text) if word not in known]


def stub_script(sessions, sources):
    """The server's script: `sessions` as (name, agent, version), `sources` from whom each is relayed to."""
    rules = []
    for name, agent, version in sessions:
        for step in STEPS:
            relayed = Exchange(sources[name], "ask") if step == "relay" else None
            rules.append(Exchange(name, step).rules(agent, relayed))
        # An answer that the agent itself would take for a command.
        rules.append(dict(agent.rule, match=Exchange(name, "bang").word, text="!touch pwned.txt"))
        for step in TOOLS:
            exchange = Exchange(name, step)
            rules += agent.tool_rules(exchange.word, exchange.answer, step + ".txt", version)
    return {"rules": rules, "default": {"text": "ok"}}
