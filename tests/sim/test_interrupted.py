"""An interrupt at any moment of a run comes out as that interrupt. Compiled code that takes it for something else ends
the whole process, a person's notebook with it (`core/multiply.c`)."""

import os
import subprocess
import sys

INTERRUPTED = """
import signal
import time

import tocsin
from tocsin.protocols.registry import REGISTRY

SECONDS_EACH = 0.4
PERIODS = (0.011, 0.017, 0.023)  # seconds until the interrupt comes, one after the other

counted = 0
for name in REGISTRY:
    scenario = {
        "protocol": name,
        "sites": ["a", "b", "c"],
        "duration_us": 10**9,
        "workload": {"messages": 10**6, "every_us": 100},
        "clocks": {"a": 50, "b": -50},
    }
    ends_at = time.monotonic() + SECONDS_EACH
    tries = 0
    while time.monotonic() < ends_at:
        signal.setitimer(signal.ITIMER_REAL, PERIODS[tries % len(PERIODS)])
        tries += 1
        try:
            tocsin.simulate(scenario, beyond_assumptions=True)
        except KeyboardInterrupt:
            counted += 1
print(counted)
"""


def test_an_interrupt_is_never_taken_for_something_else() -> None:
    program = f"import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n{INTERRUPTED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 30, "interrupts did come"


LARGE_PRODUCTS = """
import signal

from tocsin.core.generators import _pair_key

LARGE = 1 << 4000

counted = 0
for tries in range(200):
    signal.setitimer(signal.ITIMER_REAL, 0.001 + tries * 0.00001)
    try:
        while True:
            _pair_key(LARGE, LARGE, LARGE)  # a product
    except KeyboardInterrupt:
        counted += 1
print(counted)
"""


def test_an_interrupt_in_the_middle_of_a_large_product() -> None:
    """Python's long multiplication looks for signals inside."""
    program = f"import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n{LARGE_PRODUCTS}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == 200


DROPPED_STEPS = """
from tocsin.core.effects import Effects

for tries in range(200):
    outbox = Effects()
    for key in range(1000):
        outbox.cancel_timer("t", key)
        outbox.persist(KEPT)
    outbox.first = None
    outbox.others = []
"""


def test_many_effects_are_dropped_at_once() -> None:
    """As an interrupt does that comes while a long step's effects happen."""
    program = "from tocsin.core.message import Record\nKEPT = Record()\n" + DROPPED_STEPS
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONMALLOC": "debug"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
