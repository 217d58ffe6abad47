"""Events as JSON lines, the way `tocsin join` and `tocsin journal` print them (docs/formats.md).

A payload that is not UTF-8 text cannot stand in JSON: it is written as {"base64": "…"}.
"""

import base64
import json
from typing import Any

from tocsin.live.events import Batch, BatchEvent, Missed, View


def delivery_line(position: int, group: str, origin: str, seqno: int, time_us: int, payload: bytes) -> str:
    return json.dumps(
        {
            "position": position,
            "group": group,
            "origin": origin,
            "seqno": seqno,
            "time_us": time_us,
            "payload": payload_text(payload),
        },
        ensure_ascii=False,
    )


def view_line(view: int, members: tuple[str, ...], primary: bool) -> str:
    return json.dumps({"view": view, "members": list(members), "primary": primary})


def event_lines(event: BatchEvent) -> list[str]:
    if isinstance(event, Batch):
        return [
            delivery_line(
                event.position + index, event.group, event.origin, event.seqno + index, event.time_us, payload
            )
            for index, payload in enumerate(event.payloads)
        ]
    if isinstance(event, View) and event.group is not None:
        return [json.dumps({"view": event.view, "members": list(event.members), "group": event.group})]
    if isinstance(event, View):
        return [view_line(event.view, event.members, event.primary)]
    if isinstance(event, Missed):
        return [json.dumps({"missed": [event.group, event.origin, event.first, event.count]})]
    return [json.dumps({"rollback": [event.group, event.origin, event.seqno], "position": event.position})]


def consumer_line(name: str, told: dict[str, Any]) -> str:
    """How far a consumer has come, for people."""
    if told["state"] in ("damaged", "lost"):
        return f"{name}: {told['state']}"
    groups = ", ".join(
        f"{group}: at {at}, {told['lag'].get(group, 0)} behind" for group, at in told["positions"].items()
    )
    return f"{name} ({told['state']})  {groups}"


def payload_text(payload: bytes) -> str | dict[str, str]:
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(payload).decode("ascii")}
