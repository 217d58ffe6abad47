"""Network namespaces joined by a bridge: each member on a machine of its own, as far as the network can tell.

Needs root. The bridge has a namespace, too, so that nothing is left behind in the host's. Links can be cut and mended.
"""

import os
import subprocess
import uuid

MTU = 1500
WHY_NOT = "network namespaces need root and the `ip` command"


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)


def available() -> bool:
    if os.geteuid() != 0:
        return False
    name = f"tocsin-{uuid.uuid4().hex[:6]}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


class Namespaces:
    """`count` namespaces with the addresses 10.77.0.1, 10.77.0.2, … on one bridge."""

    def __init__(self, count: int, mtu: int = MTU) -> None:
        self._tag = uuid.uuid4().hex[:6]
        self._bridge = f"tocsin-{self._tag}-br"
        self.names = [f"tocsin-{self._tag}-{index}" for index in range(count)]
        self.addresses = [f"10.77.0.{index + 1}" for index in range(count)]
        self._mtu = mtu

    def __enter__(self) -> "Namespaces":
        mtu = str(self._mtu)
        _ip("netns", "add", self._bridge)
        _ip("-n", self._bridge, "link", "add", "br0", "mtu", mtu, "type", "bridge", "mcast_snooping", "0")
        _ip("-n", self._bridge, "link", "set", "br0", "up")
        for index, name in enumerate(self.names):
            _ip("netns", "add", name)
            peer = ("type", "veth", "peer", "name", "eth0", "mtu", mtu, "netns", name)
            _ip("-n", self._bridge, "link", "add", f"v{index}", "mtu", mtu, *peer)
            _ip("-n", self._bridge, "link", "set", f"v{index}", "master", "br0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "addr", "add", f"{self.addresses[index]}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "route", "add", "default", "dev", "eth0")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (*self.names, self._bridge):
            subprocess.run(("ip", "netns", "del", name), check=False, capture_output=True)

    def command(self, index: int, *words: str) -> list[str]:
        """A command that runs in a namespace."""
        return ["ip", "netns", "exec", self.names[index], *words]

    def cut(self, index: int) -> None:
        """Take the cable of one out of the bridge."""
        _ip("-n", self._bridge, "link", "set", f"v{index}", "down")

    def mend(self, index: int) -> None:
        _ip("-n", self._bridge, "link", "set", f"v{index}", "up")
