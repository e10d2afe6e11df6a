"""Runs checks of the tunnel: all of them, or those that are named. Each has a daemon of its own.

    SWB=target/debug/swb .venv/bin/python tests/tunnel/run.py [-j N] [NAME...]
"""

import asyncio
import importlib
import inspect
import sys
import time
import traceback

from support import Home

MODULES = ["offer", "answers", "proof", "channels", "roles", "flow", "bounds", "ends", "floods", "peers", "lost"]


def checks():
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if inspect.iscoroutinefunction(value) and value.__module__ == name and not key.startswith("_"):
                found[f"{name}.{key}"] = value
    return found


async def run(name, check):
    home, began = Home(), time.monotonic()
    try:
        await check(home)
        print(f"ok   {name} {time.monotonic() - began:.1f} s", flush=True)
        return True
    except Exception:
        print(f"FAIL {name} {time.monotonic() - began:.1f} s\n{traceback.format_exc()}{home.log()[-4000:]}", flush=True)
        return False
    finally:
        await home.close()


async def main(arguments):
    if sys.version_info < (3, 12):
        # The default of later versions; the older one loses exit codes now and then.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
        asyncio.get_child_watcher().attach_loop(asyncio.get_running_loop())
    jobs = 1
    if arguments[:1] == ["-j"]:
        jobs, arguments = int(arguments[1]), arguments[2:]
    known = checks()
    if arguments == ["--list"]:
        print("\n".join(known))
        return 0
    chosen = [name for name in known if not arguments or any(name == word or name.startswith(word + ".") for word in arguments)]
    if not chosen:
        print("no such check; --list lists them", file=sys.stderr)
        return 2
    turns = asyncio.Semaphore(jobs)

    async def in_turn(name):
        async with turns:
            return await run(name, known[name])
    results = await asyncio.gather(*map(in_turn, chosen))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
