"""What an operator is told of a member: `tocsin status`, and the same numbers for Prometheus."""

import os
import resource
import time
from pathlib import Path
from typing import Any

from tocsin.live.driver import Driver
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.naming import Naming
from tocsin.live.opening import Opened
from tocsin.live.outgoing import Outgoing
from tocsin.live.storage.consumer_places import consumer_places
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.knowledge import incarnation_bytes
from tocsin.live.storage.log import Log
from tocsin.live.storage.scrub import Scrubber
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.wire import Wire


def peak_memory_bytes() -> int:
    """The most memory that this process has had. Where Linux tells, not by `getrusage`: that begins with the peak of
    the process that started this one."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def status_of(
    group: Group, site: str, opened: Opened, driver: Driver | None, outgoing: Outgoing, incoming: Incoming
) -> dict[str, Any]:
    """Everything an operator asks for, by plain names. While a member asks the others, it has no driver."""
    view = incoming.view
    return {
        "group": group.name,
        "protocol": group.protocol.name,
        "site": site,
        "time_us": time.time_ns() // 1000,
        "life": opened.register.mine().life,
        "identity": _identity(opened, driver),
        "view": None if view is None else {"view": view.view, "members": list(view.members), "primary": view.primary},
        "queues": {
            "to_broadcast": outgoing.queued(),
            "outstanding": outgoing.receipts.outstanding,
            "room": 0 if driver is None else driver.machine.room(),
            "quiet": False if driver is None else driver.machine.quiet(),
            "backlog_events": len(incoming.backlog),
            "backlog_bytes": incoming.backlog.waiting_bytes,
            "timers": 0 if driver is None else len(driver.timers),
        },
        "totals": _totals(opened.wire, driver, outgoing, incoming),
        "drops": _drops(opened.wire, driver),
        "peers": _peers(group, site, opened),
        "injected": _injected(opened.wire.injector),
        "socket": _socket(opened.wire),
        "journal": _journal(group, opened.log, None if driver is None else driver.closed_files.journal),
        "consumers": _consumers(group, opened),
        "process": _process(),
    }


def _consumers(group: Group, opened: Opened) -> dict[str, Any]:
    """By name: how far each has come, and how many messages it lacks."""
    if opened.log is None:
        return {}
    naming = Naming(group)
    ends = {naming.group(index): group.position for index, group in enumerate(opened.log.frames.groups)}
    running = () if opened.journal is None else tuple(opened.journal.acknowledged)
    incarnation = incarnation_bytes(opened.log.incarnation, opened.log.made)
    return consumer_places(opened.folder, ends, incarnation, running)


def _identity(opened: Opened, driver: Driver | None) -> dict[str, Any]:
    """Who this member is: its group's id, which of its site's disks it has, and for whom it waits before it takes
    part."""
    log = opened.log
    return {
        "group_id": opened.register.group_id.hex() or None,
        "incarnation": None if log is None or driver is None else log.incarnation,
        "first_number": None if log is None or driver is None else log.knowledge.first_number,
        "renewed": opened.renewed or None,
        "waits_for": None if driver is not None else opened.asking.waits_for() or None,
    }


def _totals(wire: Wire, driver: Driver | None, outgoing: Outgoing, incoming: Incoming) -> dict[str, int]:
    endpoint = wire.endpoint
    return {
        "messages_broadcast": outgoing.stat_messages,
        "messages_delivered": incoming.stat_messages,
        "steps": 0 if driver is None else driver.stat_steps,
        "commits": 0 if driver is None else driver.commits.stat_commits,
        # People's dashboards read these names: `frames` and `segments` stay for what the code calls packets and
        # datagrams.
        "frames_sent": wire.sender.stat_packets,
        "frames_received": wire.stat_packets_received,
        "datagrams_sent": endpoint.stat_datagrams_sent,
        "bytes_sent": endpoint.stat_bytes_sent,
        "bytes_received": wire.receiver.stat_bytes,
        "send_calls": endpoint.stat_calls_sent,
        "segments_asked": wire.stat_asked,
        "segments_repaired": wire.sender.stat_repaired,
        "send_errors": endpoint.stat_send_errors,
        "backlog_dropped": endpoint.stat_backlog_dropped,
        "unfinished_evicted": wire.receiver.assembler.stat_evicted,
        "blocked": 0 if driver is None else driver.stat_blocked,
        "spilled": incoming.backlog.stat_spilled,
        "slow_left": 0,
        "broken_messages": 0 if driver is None else driver.staging.broken(),
    }


def _peers(group: Group, site: str, opened: Opened) -> dict[str, Any]:
    """Whom this member has met, and of the others why not, as far as it is known."""
    wire, register = opened.wire, opened.register
    found: dict[str, Any] = {}
    for peer, name in enumerate(group.sites):
        if name != site:
            known = wire.meetings.of(peer)
            found[name] = {
                "met": known.session != b"",
                "incarnation": register.of(peer).incarnation or None,
                "life": None if known.about is None else known.about.who.life,
                "differs": list(known.differs),
                "why": wire.why_unmet(peer),
            }
    return found


def _drops(wire: Wire, driver: Driver | None) -> dict[str, int]:
    undecoded = 0 if driver is None else driver.stat_decode_drops
    return wire.drops() | ({"message": undecoded} if undecoded else {})


def _injected(injector: Injector) -> dict[str, Any]:
    return {
        "faults": injector.text,
        "lost": injector.stat_lost,
        "duplicated": injector.stat_duplicated,
        "delayed": injector.stat_delayed,
    }


def _socket(wire: Wire) -> dict[str, Any]:
    endpoint = wire.endpoint
    return {
        "offload": endpoint.offload,
        "kernel_filter": wire.filtered,
        "receive_buffer": endpoint.receive_buffer,
        "send_buffer": endpoint.send_buffer,
        "multicast": None if endpoint.multicast_address is None else ":".join(map(str, endpoint.multicast_address)),
    }


def _journal(group: Group, log: Log | None, journal: JournalFolder | None) -> dict[str, Any]:
    """A member whose log is damaged has none until it has asked the others."""
    naming = Naming(group)
    if log is None:
        return {"durability": group.journal.durability, "log_bytes": 0, "positions": {}}
    return {
        "durability": group.journal.durability,
        "log_bytes": log.size_bytes(),
        "records": len(log.records),
        "next_number": log.next_number,
        "producers": len(log.producers),
        "archived_files": 0 if journal is None else journal.next_file,
        "files_dropped": 0 if journal is None else journal.stat_dropped,
        "torn_bytes_cut": log.cut_bytes,
        "in_doubt": log.in_doubt or None,
        "positions": {naming.group(index): group.position for index, group in enumerate(log.frames.groups)},
    }


def scrub_status(scrubber: Scrubber) -> dict[str, Any]:
    """What reading everything again has found so far."""
    damaged = [{"file": each.file, "offset": each.offset, "what": each.what} for each in scrubber.found]
    return {"passes": scrubber.passes, "bytes": scrubber.bytes(), "damaged": damaged}


def _process() -> dict[str, Any]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "pid": os.getpid(),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
        "memory_bytes_max": peak_memory_bytes(),
    }


def _escaped(label: str) -> str:
    """A label's value as Prometheus' text format wants it."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def prometheus(status: dict[str, Any]) -> str:
    """The same numbers as Prometheus text."""
    labels = f'group="{_escaped(status["group"])}",site="{_escaped(status["site"])}"'
    lines: list[str] = []
    for name, value in status["totals"].items():
        lines += [f"# TYPE tocsin_{name}_total counter", f"tocsin_{name}_total{{{labels}}} {value}"]
    for name, value in {**status["queues"], "log_bytes": status["journal"]["log_bytes"]}.items():
        lines += [f"# TYPE tocsin_{name} gauge", f"tocsin_{name}{{{labels}}} {int(value)}"]
    lines.append("# TYPE tocsin_dropped_total counter")
    for reason, count in sorted(status["drops"].items()):
        lines.append(f'tocsin_dropped_total{{{labels},reason="{reason}"}} {count}')
    lines.append("# TYPE tocsin_consumer_lag gauge")
    for consumer, told in sorted(status["consumers"].items()):
        for name, count in sorted(told["lag"].items()):
            which = f'consumer="{_escaped(consumer)}",of="{_escaped(name)}"'
            lines.append(f"tocsin_consumer_lag{{{labels},{which}}} {count}")
    lines += ["# TYPE tocsin_producers gauge", f"tocsin_producers{{{labels}}} {status['journal'].get('producers', 0)}"]
    for name, value in (status.get("state") or {}).items():
        kind = "counter" if name in ("applied", "repeats") else "gauge"
        name = f"tocsin_state_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# TYPE {name} {kind}", f"{name}{{{labels}}} {int(value)}"]
    view = status["view"]
    lines.append("# TYPE tocsin_view_members gauge")
    lines.append(f"tocsin_view_members{{{labels}}} {0 if view is None else len(view['members'])}")
    lines.append("# TYPE tocsin_primary gauge")
    lines.append(f"tocsin_primary{{{labels}}} {int(view is not None and view['primary'])}")
    lines.append("# TYPE tocsin_process_cpu_seconds_total counter")
    lines.append(f"tocsin_process_cpu_seconds_total{{{labels}}} {status['process']['cpu_seconds']}")
    return "\n".join(lines) + "\n"
