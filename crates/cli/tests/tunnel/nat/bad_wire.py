"""A wire between two network interfaces that loses, delays and reorders packets, for kernels without netem.

Usage: bad_wire.py NAME NAME

Makes both interfaces, prints "ready", and carries packets until it is killed. The packets that are lost are the same in each run,
as far as the two ends send the same.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

LOST = 0.05
REORDERED = 0.10
DELAY = 0.030
JITTER = 0.005
# Packets on their way; a real wire drops more, too.
MOST = 1000

TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000


def interface(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP_NO_PI))
    return tap


def carry(ends):
    chance = random.Random(17)
    others = {ends[0]: ends[1], ends[1]: ends[0]}
    on_the_way = []
    count = 0
    while True:
        wait = max(0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        readable, _, _ = select.select(ends, [], [], wait)
        for end in readable:
            packet = os.read(end, 65536)
            # Finding each other on the link is not what is tested: only IP packets suffer.
            suffers = packet[12:14] in (b"\x08\x00", b"\x86\xdd")
            if suffers and (chance.random() < LOST or len(on_the_way) >= MOST):
                continue
            overtakes = suffers and chance.random() < REORDERED
            delay = 0 if overtakes else DELAY + chance.random() * JITTER
            count += 1
            heapq.heappush(on_the_way, (time.monotonic() + delay, count, others[end], packet))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(on_the_way)
            try:
                os.write(end, packet)
            except OSError:
                # The interface is down, or takes no more.
                pass


def main():
    ends = [interface(name) for name in sys.argv[1:3]]
    print("ready", flush=True)
    carry(ends)


if __name__ == "__main__":
    main()
