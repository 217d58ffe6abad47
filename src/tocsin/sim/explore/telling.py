"""The schedule of a violation, told as a transcript that can be acted again (`sim/transcript.py`)."""

import json

import msgspec

from tocsin.sim.explore.exploration import Step, Violation
from tocsin.sim.explore.flights import DOWN
from tocsin.sim.run import named_groups
from tocsin.sim.scenario import Scenario
from tocsin.sim.transcript import RULE, Transcript


def tell_violation(scenario: Scenario, violation: Violation, seed: int) -> str:
    """Every step that leads to it, with the effects that it had."""
    telling = Telling(scenario, seed)
    for step in violation.steps:
        telling.tell(step)
    return "\n".join([*telling.lines, f"# violated: {violation.why}"]) + "\n"


class Telling:
    """Acts the steps of a schedule, and writes down what happens."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        absent = {site for fault in scenario.faults if fault.what == "join" for site in fault.sites}
        founders = [name for site, name in enumerate(scenario.names) if site not in absent]
        self.transcript = Transcript(
            scenario.protocol,
            scenario.names,
            dict(scenario.config.options),
            named_groups(scenario),
            founders,
            scenario.topology,
            seed,
        )
        self.lines = [*_head(scenario, founders), ""]
        self._write("start", self.transcript.command("start"))

    def _write(self, command: str, effects: list[str]) -> None:
        self.lines.append(command)
        self.lines.extend([RULE, *effects] if effects else [])
        self.lines.append("")

    def tell(self, step: Step) -> None:
        target = self.transcript.names[step.target] if step.target >= 0 else ""
        match step.what:
            case "arrive" | "lose" | "repeat" | "vanish":
                self._carry(step, target)
                return
            case "broadcast":
                group, _, payload = step.text.partition(" ")
                commands = [f'broadcast {target} {group} "{payload}"']
            case "fire":
                commands = [f"fire {target} {step.text}"]
            case _:
                commands = step.text.splitlines()
        for command in commands:
            self._write(command, [] if command.startswith("#") else self.transcript.command(command))

    def _carry(self, step: Step, target: str) -> None:
        """What becomes of something in flight."""
        names = self.transcript.names
        source = names[step.source]
        if step.message is not None:
            way = "lose" if step.what == "vanish" else step.what
            command = f"{way} {source} -> {target} '{step.message.brief(names)}'"
            self._write(command, self.transcript.move(way, step.source, step.target, step.message))
        elif step.what == "arrive":
            command = f"detect {target} {'down' if step.flight == DOWN else 'up'} {source}"
            self._write(command, self.transcript.command(command))
        else:
            self._write(f"# {target} is down, and hears nothing of {source}", [])


def _head(scenario: Scenario, founders: list[str]) -> list[str]:
    """What a transcript says of its world."""
    head = [f"protocol {scenario.protocol.name}", f"sites {' '.join(scenario.names)}"]
    if len(founders) < len(scenario.names):
        head.append(f"founders {' '.join(founders)}")
    if scenario.config.groups is not None:
        head.extend(f"group {name} {' '.join(members)}" for name, members in named_groups(scenario).items())
    options = msgspec.to_builtins(dict(scenario.config.options))
    head.extend(f"option {name} = {json.dumps(value)}" for name, value in options.items())
    return head
