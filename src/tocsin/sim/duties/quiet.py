"""quiet: within the protocol's bound after the run has healed, no machine has anything outstanding, and nobody goes on
installing views or graphs."""

from tocsin.sim.duties.ending import Ending

SHOWN = 5


def restlessness(ending: Ending) -> str:
    """Who is not quiet though the bound is over, and what goes on; "" if all is well."""
    late = ending.since + ending.protocol.liveness_us
    after = f"{(ending.now - ending.since) / 1e6:.1f} s after the run has healed"
    bound = f"(bound {ending.protocol.liveness_us / 1e6:.0f} s)"
    changes = [at for at in ending.notes.changes if at > late]
    if changes:
        span = (ending.now - late) / 1e6
        return f"views or groups are installed without end: {len(changes)} in the last {span:.1f} s, {after} {bound}"
    restless = ending.restless() if ending.now >= late else []
    if not restless:
        return ""
    shown = ", ".join(restless[:SHOWN]) + (f" and {len(restless) - SHOWN} more" if len(restless) > SHOWN else "")
    return f"{shown}: {after} {bound}"
