"""A client of the scriptschnell socket, as small as it can be: one session, one prompt at a time."""

import json
import os
import socket
import time

from harness import Failed, check


class Chat:
    """A connection that is attached to a session."""

    def __init__(self, home, session):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(home, ".scriptschnell.sock"))
        self.buffer, self.requests = b"", 0
        data = {"client_type": "test", "version": "1", "capabilities": ["authorization", "questions", "progress"]}
        self._answer(self._send("auth_request", data))
        self._answer(self._send("session_attach", {"session_id": session}))

    def close(self):
        self.socket.close()

    def _send(self, kind, data, answered=True):
        self.requests += 1
        message = {"type": kind, "data": data}
        if answered:
            message["request_id"] = "r%d" % self.requests
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return message.get("request_id")

    def _next(self, deadline):
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                raise Failed("nothing more came over the socket") from None
            check(data, "the socket was closed")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def _answer(self, request, seconds=30):
        deadline = time.monotonic() + seconds
        while True:
            message = self._next(deadline)
            if message.get("request_id") == request:
                check("error" not in message or not message["error"], "it was answered %s" % message)
                return message

    def say(self, prompt, seconds, decide=None, stop_at=None):
        """Says something; what is answered in parts, how it ended, and what was asked meanwhile.

        `decide` gives the decision about an approval; at the text `stop_at` the answer is stopped.
        """
        request, parts, asked, stopped = self._send("chat_send", {"content": prompt}), [], [], None
        deadline = time.monotonic() + seconds
        while True:
            message = self._next(deadline)
            kind, data = message["type"], message.get("data") or {}
            if message.get("request_id") == request:
                if stopped is not None:
                    asked.append(time.monotonic() - stopped)
                status = data.get("status") or message.get("error", {}).get("message")
                return parts, status, asked
            if kind == "chat_message" and data["role"] == "assistant" and data["content"]:
                parts.append(data["content"])
            elif kind == "authorization_request":
                asked.append(data)
                check(decide, "it asks for an approval: %s" % data)
                answer = dict(decide(data), auth_id=data["auth_id"])
                self._send("authorization_response", answer, answered=False)
            if stop_at is not None and stopped is None and stop_at in "".join(parts):
                stopped = time.monotonic()
                self._send("chat_stop", {})
