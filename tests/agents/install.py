"""Brings the agents from their registries into a cache directory.

Each agent and version has a directory of its own, so that one that cannot be installed spoils no
other. What is there is used as it is; remove a directory to have it installed anew.
"""

import os
import shutil
import subprocess
import sys

INSTALL_SECONDS = 1800


class CannotInstall(Exception):
    """Why an agent is not there, and what to do about it."""


def default_directory():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "switchboard-agents")


def install(agent, version, directory, say):
    """The directory of the agent's executable and its version, installed first if need be."""
    home = os.path.join(directory, agent.name + ("@" + version if version else ""))
    bin_dir = os.path.join(home, agent.registry.bin_dir)
    executable = os.path.join(bin_dir, agent.command)
    if not os.path.exists(executable):
        spec = agent.registry.spec(agent.package, version)
        say("installing %s into %s" % (spec, home))
        os.makedirs(home, exist_ok=True)
        agent.registry.install(spec, home)
        if not os.path.exists(executable):
            raise CannotInstall("%s was installed, but %s is not there; see %s"
                                % (spec, executable, _log(home)))
    return bin_dir, agent.registry.version(agent.package, home)


class Npm:
    """Packages of Node.js."""

    bin_dir = os.path.join("node_modules", ".bin")

    @staticmethod
    def spec(package, version):
        return "%s@%s" % (package, version or "latest")

    @staticmethod
    def install(spec, home):
        if not shutil.which("npm") or not shutil.which("node"):
            raise CannotInstall("node and npm are not in the PATH; install Node.js 20 or later")
        _run(["npm", "install", "--prefix", home, "--no-audit", "--no-fund", "--loglevel=error", spec], home,
             "check that npm reaches its registry: npm view %s version" % spec)

    @staticmethod
    def version(package, home):
        return _json_version(os.path.join(home, "node_modules", *package.split("/"), "package.json"))


class PyPI:
    """Packages of Python, each in a virtual environment."""

    bin_dir = "bin"
    # The versions of Python for which current releases of aider are published: with another one
    # pip takes a release of years ago.
    PYTHONS = ("3.12", "3.11", "3.10")

    @staticmethod
    def spec(package, version):
        return "%s==%s" % (package, version) if version else package

    @classmethod
    def install(cls, spec, home):
        _run([cls._python(), "-m", "venv", home], home, "check that this Python has the module venv")
        _run([os.path.join(home, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check",
              "--progress-bar", "off", spec], home,
             "check that pip reaches its index: pip download --no-deps %s" % spec)

    @classmethod
    def _python(cls):
        if "%d.%d" % sys.version_info[:2] in cls.PYTHONS:
            return sys.executable
        for version in cls.PYTHONS:
            found = shutil.which("python" + version)
            if found:
                return found
        raise CannotInstall("it needs one of Python " + ", ".join(cls.PYTHONS) + " in the PATH")

    @staticmethod
    def version(package, home):
        code = "import importlib.metadata as m; print(m.version(%r))" % package
        done = subprocess.run([os.path.join(home, "bin", "python"), "-c", code], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=60)
        return done.stdout.strip() or "?"


def _json_version(path):
    import json
    try:
        with open(path, encoding="utf-8") as file:
            return str(json.load(file).get("version", "?"))
    except (OSError, ValueError):
        return "?"


def _log(home):
    return os.path.join(home, "install.log")


def _run(argv, home, hint):
    """Runs a step of an installation; what it prints goes into the agent's install.log."""
    with open(_log(home), "ab") as log:
        try:
            code = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  timeout=INSTALL_SECONDS).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotInstall("%s: %s; %s" % (argv[0], error, hint)) from error
    if code != 0:
        raise CannotInstall("%s ended with %d, see %s; %s" % (" ".join(argv[:3]), code, _log(home), hint))
