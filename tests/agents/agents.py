"""The agents: where each comes from, how it learns the stub server's address, and how it is started.

The settings keep an agent off the network and answer the questions of its first start before they
are asked. What is asked all the same is answered with keys (`dialogs`).
"""

import json
import os

from install import Npm, PyPI

KEY = "dummy-key-for-the-stub-server-00000"
# Connections to other hosts over TLS find no server: nothing leaves the machine.
NO_NETWORK = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
              "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


class Agent:
    """What the agents have in common."""

    name = command = package = ""
    registry = Npm
    arguments = ()
    # Requests for an answer offer tools; side requests, such as one for a title, do not.
    rule = {"tools": True}
    # (expression on the screen, keys that answer it)
    dialogs = ()
    # What stands before a prompt that makes it use a tool.
    tool_prefix = ""
    # Whether swb reads the session files that it writes.
    transcript = False

    def configure(self, home, project, url):
        """Writes the agent's settings and gives its environment."""
        raise NotImplementedError

    def tool(self, command, version):
        """The call of the tool that runs a command, in a way that needs approval."""
        raise NotImplementedError

    def tool_rules(self, word, answer, file, version):
        """The server's rules for a question that makes the agent create a file."""
        return self.tool_chain(word, ["I will make it.", answer], [file], version)

    def tool_chain(self, word, pieces, files, version):
        """The same for several files, one after the other, with a piece of the answer before each and after the last."""
        rules = []
        for n, text in enumerate(pieces):
            rule = dict(self.rule, match=word, after_tool=n > 0, text=text)
            if n < len(files):
                rule["tool"] = self.tool("touch " + files[n], version)
                rule.update({"times": 1} if n > 0 else {})
            rules.append(rule)
        return rules


class Claude(Agent):
    name = command = "claude"
    transcript = True
    package = "@anthropic-ai/claude-code"
    dialogs = ((r"trust the files|trust this folder|project you created", ["Enter"]),
               (r"use this API key", ["Up", "Enter"]),
               (r"text style", ["Enter"]),
               (r"keep manual mode", ["Down", "Enter"]),
               (r"Press Enter to continue", ["Enter"]))

    def configure(self, home, project, url):
        path = os.path.join(home, ".claude.json")
        settings = _read_json(path) or {
            "hasCompletedOnboarding": True, "theme": "dark", "projects": {},
            # It knows a key by its last twenty characters.
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
        settings["projects"][project] = {"hasTrustDialogAccepted": True, "allowedTools": [],
                                         "hasCompletedProjectOnboarding": True}
        _write(path, json.dumps(settings))
        # Commands are to be asked for, also by releases that would judge them by themselves.
        _write(os.path.join(home, ".claude", "settings.json"), json.dumps(
            {"permissions": {"defaultMode": "default", "ask": ["Bash"]}}))
        return dict(NO_NETWORK, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY, DISABLE_AUTOUPDATER="1",
                    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")

    def tool(self, command, version):
        return {"name": "Bash", "input": {"command": command, "description": "Make a file"}}


class Codex(Agent):
    name = command = "codex"
    transcript = True
    package = "@openai/codex"
    dialogs = ((r"trust the contents|allow Codex to work|Do you trust", ["Enter"]),
               (r"Update available", ["Down", "Enter"]))

    def configure(self, home, project, url):
        path = os.path.join(home, ".codex", "config.toml")
        if not os.path.exists(path):
            _write(path, "\n".join([
                'model = "stub-model"', 'model_provider = "stub"', "check_for_update_on_startup = false",
                "[model_providers.stub]", 'name = "stub"', 'base_url = "%s/v1"' % url,
                'wire_api = "responses"', 'env_key = "STUB_KEY"', "request_max_retries = 1",
                "stream_max_retries = 1", ""]))
        with open(path, "a", encoding="utf-8") as file:
            file.write('[projects."%s"]\ntrust_level = "trusted"\n' % project)
        return dict(NO_NETWORK, STUB_KEY=KEY)

    def tool(self, command, version):
        asks = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
        if version.startswith("0.80."):
            return {"name": "shell_command",
                    "input": dict(asks, command=command, with_escalated_permissions=True)}
        return {"name": "exec_command", "input": dict(asks, cmd=command)}


class Gemini(Agent):
    name = command = "gemini"
    transcript = True
    package = "@google/gemini-cli"
    arguments = ("-m", "gemini-2.5-pro")
    dialogs = ((r"trust this folder|trust the files", ["Enter"]),)

    def configure(self, home, project, url):
        _write(os.path.join(home, ".gemini", "settings.json"), json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}))
        # With a proxy set it would ask that one for the stub server too.
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}

    def tool(self, command, version):
        return {"name": "run_shell_command", "input": {"command": command, "description": "Make a file"}}


class Opencode(Agent):
    name = command = "opencode"
    transcript = True
    package = "opencode-ai"
    rule = {"api": "chat", "tools": True}

    def configure(self, home, project, url):
        models = {"stub-model": {"name": "Stub"}}
        options = {"baseURL": url + "/v1", "apiKey": KEY}
        _write(os.path.join(home, ".config", "opencode", "opencode.json"), json.dumps({
            "autoupdate": False, "share": "disabled", "model": "stub/stub-model", "small_model": "stub/stub-model",
            "permission": {"bash": "ask", "edit": "ask"},
            "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "stub", "options": options,
                                  "models": models}}}))
        return dict(NO_NETWORK)

    def tool(self, command, version):
        return {"name": "bash", "input": {"command": command, "description": "Make a file"}}


class Aider(Agent):
    name = command = "aider"
    package = "aider-chat"
    registry = PyPI
    arguments = ("--model", "openai/stub-model", "--no-check-update", "--no-show-model-warnings", "--no-git",
                 "--analytics-disable", "--no-show-release-notes", "--chat-mode", "ask")
    rule = {"api": "chat"}
    dialogs = ((r"\(Y\)es/\(N\)o", ["n", "Enter"]),)
    tool_prefix = "/code "

    def configure(self, home, project, url):
        # The list of prices that it would fetch.
        _write(os.path.join(home, ".aider", "caches", "model_prices_and_context_window.json"), json.dumps(
            {"openai/stub-model": {"max_input_tokens": 100000, "max_output_tokens": 8000,
                                   "litellm_provider": "openai", "mode": "chat"}}))
        return dict(NO_NETWORK, OPENAI_API_BASE=url + "/v1", OPENAI_API_KEY=KEY,
                    LITELLM_LOCAL_MODEL_COST_MAP="True")

    def tool_rules(self, word, answer, file, version):
        # It takes a file from the text of an answer; another block would be another file.
        return self.tool_chain(word, ["Here it is."], [file], version)

    def tool_chain(self, word, pieces, files, version):
        text = "\n\n".join("%s\n\n%s\n```\nmade\n```" % pair for pair in zip(pieces, files))
        return [dict(self.rule, match=word, text="\n\n".join([text] + pieces[len(files):]))]


ALL = (Claude(), Codex(), Aider(), Gemini(), Opencode())


def by_name(name):
    """The agent of that name, or None."""
    return next((agent for agent in ALL if agent.name == name), None)


def _read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
