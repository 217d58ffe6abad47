"""What an exploration is asked and what it answers."""

from array import array

import msgspec

from tocsin.core.message import Message
from tocsin.properties import AT_THE_END, FAIL
from tocsin.properties.plain.check import check_rows
from tocsin.sim.explore.local_states import Local
from tocsin.sim.run import named_groups
from tocsin.sim.scenario import Scenario
from tocsin.sim.transcript import RULE, Transcript
from tocsin.traces.buffer import TraceBuffer


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may go wrong, and how much work may be done."""

    losses: int = 0  # messages lost
    crashes: int = 0  # sites that crash; each may come back at any later point
    recoveries: int | None = None  # how often one comes back in all; None: no limit
    late_recoveries: bool = False  # only when nothing is in flight: a restart takes longer than a message
    prompt_detector: bool = False  # the perfect detector tells everybody in the very instant
    early: int = 0  # timers that fire before their time
    repeats: int = 0  # messages that arrive twice
    states_max: int = 5_000_000  # about 1 GB
    seed: int = 0


class Step(msgspec.Struct, frozen=True):
    """One thing that happened."""

    what: str
    source: int
    target: int
    message: Message | None = None
    text: str = ""
    flight: int = 0  # 0 a message, 1 and 2 word of the detector


class Violation(msgspec.Struct, frozen=True):
    why: str
    steps: list[Step]


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    states: int  # different global states
    local_states: int  # different states of single sites
    transitions: int
    ends: int  # states in which nothing more can happen
    # different orders of events from start to end; None if not finished, not counted, or there is no end to them
    executions: int | None
    finished: bool
    violation: Violation | None


def broken_promise(scenario: Scenario, locals_: list[Local], at_the_end: bool) -> str | None:
    """The first promised property that does not hold for what the applications of all sites saw, and why."""
    trace = TraceBuffer("exploration", scenario.names)
    for local in locals_:
        for origin, seqno in sorted(local.received):
            trace.append(local.site, 0, "receive", None, scenario.names[origin], seqno, "data")
        for event, group, origin, seqno, view, members in local.story:
            trace.append(
                local.site,
                0,
                event,
                None if group is None else scenario.group_names[group],
                None if origin is None else scenario.names[origin],
                seqno,
                view=view,
                members=None if members is None else [scenario.names[site] for site in members],
            )
    promised = [
        name for name in scenario.protocol.promised(len(scenario.groups)) if at_the_end or name not in AT_THE_END
    ]
    report = check_rows(trace.rows(), named_groups(scenario), properties=promised)
    for name, verdict in report.properties.items():
        if verdict.verdict == FAIL:
            return f"{name}: {verdict.why}"
    return None


def count_executions(states: int, edges: "array[int]", ends: list[int]) -> int | None:
    """How many paths lead from the first state to an end; None when the graph has a cycle."""
    waiting = [0] * states  # edges into a state that were not yet counted
    following: list[list[int]] = [[] for _ in range(states)]
    for place in range(0, len(edges), 2):
        waiting[edges[place + 1]] += 1
        following[edges[place]].append(edges[place + 1])
    paths = [0] * states
    paths[0] = 1
    ready = [0] if not waiting[0] else []
    counted = 0
    while ready:
        state = ready.pop()
        counted += 1
        for other in following[state]:
            paths[other] += paths[state]
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return sum(paths[end] for end in ends) if counted == states else None


def tell_violation(scenario: Scenario, violation: Violation, seed: int) -> str:
    """The schedule that leads to a violation, as a transcript."""
    names = scenario.names
    absent = {site for fault in scenario.faults if fault.what == "join" for site in fault.sites}
    transcript = Transcript(
        scenario.protocol,
        names,
        dict(scenario.config.options),
        named_groups(scenario),
        [name for site, name in enumerate(names) if site not in absent],
        scenario.topology,
        seed,
    )
    lines = ["start", RULE, *transcript.command("start"), ""]
    for step in violation.steps:
        command = _command(step, names)
        lines.append(command)
        if not command.startswith("#"):
            told = transcript.command(command)
            lines.extend([RULE, *told] if told else [])
        lines.append("")
    lines.append(f"# violated: {violation.why}")
    return "\n".join(lines) + "\n"


def _command(step: Step, names: list[str]) -> str:
    source = names[step.source] if step.source >= 0 else ""
    target = names[step.target] if step.target >= 0 else ""
    match step.what:
        case "arrive" | "lose" | "repeat" | "vanish":
            if step.message is None:
                word = "down" if step.flight == 1 else "up"
                return f"detect {target} {word} {source}" if step.what == "arrive" else f"# {target} is down"
            way = "lose" if step.what == "vanish" else step.what
            return f"{way} {source} -> {target} '{step.message.brief(names)}'"
        case "broadcast":
            group, _, payload = step.text.partition(" ")
            return f'broadcast {target} {group} "{payload}"'
        case "fire":
            return f"fire {target} {step.text}"
        case "leave" | "crash" | "recover" | "join":
            site = target or step.text
            return f"{'start' if step.what == 'join' else step.what} {site}"
        case _:
            return f"# {step.what} {step.text}".rstrip()
