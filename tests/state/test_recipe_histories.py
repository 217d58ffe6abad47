"""Maps, locks and queues over a made-up group that crashes and cuts off: what the clients saw could have been one call
after the other. Planted faults are found: a read that does not wait, a lock that is given twice."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from tests.state.fake_group import FakeGroup, Site
from tests.state.linearizable import NEVER, Call, LockModel, MapModel, Model, QueueModel, explain
from tocsin.state.recipes.lock_state import LockState
from tocsin.state.recipes.map_state import MapState
from tocsin.state.recipes.objects import Objects, decode_answer, encode_call
from tocsin.state.recipes.queue_state import QueueState

STEPS = 200


class Client:
    """One at each site, one call at a time."""

    def __init__(self, world: "World", site: Site) -> None:
        self.world = world
        self.site = site
        self.who = site.name
        self.open: tuple[str, tuple[object, ...], int] | None = None  # operation, arguments, when it began
        self.ticket = -1  # of an acquire or take that waits
        self.held: tuple[int, int] | None = None  # token and ticket; or item and ticket
        self.content = b""  # of the item
        self.seen = 0  # answers of the site

    def objects(self) -> Objects:
        assert self.site.core is not None and isinstance(self.site.core.state, Objects)
        return self.site.core.state

    def begin(self, operation: str, *arguments: object) -> None:
        self.open = (operation, arguments, self.world.now)

    def end(self, answer: object, end: int | None = None) -> None:
        assert self.open is not None
        operation, arguments, begin = self.open
        when = self.world.now if end is None else end
        self.world.history.append(Call(self.who, operation, arguments, answer, begin, when))
        self.open, self.ticket = None, -1

    def give_up(self) -> None:
        """A crash, or the end of the life: whatever was open may have counted, and what was held is another's."""
        if self.open is not None:
            self.end(None, NEVER)
        self.held = None

    def answer(self) -> tuple[bool, object]:
        """Whether the site has an answer for the call, and which."""
        if self.seen == len(self.site.answers):
            return False, None
        self.seen = len(self.site.answers)
        found = self.site.answers[-1][1]
        if found.position < 0:
            self.give_up()
            return False, None
        assert found.error is None, found.error
        return True, decode_answer(found.value) if found.value else None


class World:
    def __init__(self, seed: int, act: Callable[[Client, random.Random], None], look: Callable[[Client], None]) -> None:
        self.rng = random.Random(seed)
        self.group = FakeGroup(seed, "abc", Objects, every=20)
        self.history: list[Call] = []
        self.now = 0
        self.group.settle()
        self.clients = {name: Client(self, site) for name, site in self.group.sites.items()}
        for _ in range(STEPS):
            self.now += 1
            self._step(act, look)

    def _step(self, act: Callable[[Client, random.Random], None], look: Callable[[Client], None]) -> None:
        rng, group = self.rng, self.group
        client = self.clients[rng.choice("abc")]
        site, draw = client.site, rng.random()
        others = [each for each in group.sites.values() if each is not site and group.has_state(each)]
        if site.core is None:
            if draw < 0.2:
                group.start(site.name)
        elif draw < 0.02 and others:
            group.crash(site.name)
            self._gone(client)
            client.give_up()
            client.seen = len(site.answers)
        elif draw < 0.04 and others and not site.cut:
            group.cut(site.name)
            self._gone(client)
        elif draw < 0.2 and site.cut:
            group.heal(site.name)
        elif draw < 0.25:
            group.repeat(site.name)
        elif draw < 0.5 and client.open is None and site.core.life and site.core.is_whole():
            act(client, rng)
        for _ in range(3):
            name = rng.choice("abc")
            if rng.random() < 0.4:
                group.order_one(name)
            else:
                group.follow(name)
            if self.group.sites[name].core is not None:
                look(self.clients[name])

    def _gone(self, client: Client) -> None:
        self.history.append(Call(client.who, "gone", (), None, self.now, NEVER))


# A map of one key


def act_map(client: Client, rng: random.Random) -> None:
    world, name = client.world, client.who
    values = [b"%d" % each for each in range(4)]
    operation = rng.choice(["get", "get", "set", "delete", "compare_and_set"])
    if operation == "get":
        client.begin("get")
        world.group.sync(name)
    elif operation == "compare_and_set":
        old, new = rng.choice([None, *values]), rng.choice(values)
        client.begin(operation, old, new)
        world.group.call(name, encode_call("map", "m", operation, b"k", old, new))
    else:
        arguments = (rng.choice(values),) if operation == "set" else ()
        client.begin(operation, *arguments)
        world.group.call(name, encode_call("map", "m", operation, b"k", *arguments))


def value(client: Client) -> bytes | None:
    found = client.objects().get("map", "m")
    assert isinstance(found, MapState)
    return found.values.get(b"k")


def look_map(client: Client) -> None:
    answered, answer = client.answer()
    if answered and client.open is not None:
        client.end(value(client) if client.open[0] == "get" else answer)


def act_map_stale(client: Client, rng: random.Random) -> None:
    """Planted: reads what is here, without `sync`."""
    if rng.random() < 0.4:
        client.begin("get")
        client.end(value(client))
    else:
        act_map(client, rng)


# A lock


def act_lock(client: Client, rng: random.Random) -> None:
    if client.held is None:
        client.begin("acquire")
        client.world.group.call(client.who, encode_call("lock", "l", "acquire"))
    elif rng.random() < 0.3:
        token, ticket = client.held
        client.begin("release", token)
        client.held = None
        client.world.group.call(client.who, encode_call("lock", "l", "release", ticket))


def look_lock(client: Client) -> None:
    lock = client.objects().get("lock", "l")
    assert isinstance(lock, LockState)
    answered, answer = client.answer()
    if answered and client.open is not None:
        if client.open[0] == "release":
            client.end(answer)
        else:
            assert isinstance(answer, int)
            client.ticket = answer
    if client.ticket >= 0:
        if lock.holds(client.ticket):
            client.held = (lock.token, client.ticket)
            client.end(lock.token)
        elif not lock.knows(client.ticket):
            client.give_up()
    elif client.held is not None and not lock.holds(client.held[1]):
        client.held = None


# A queue


def act_queue(client: Client, rng: random.Random) -> None:
    group, name = client.world.group, client.who
    if client.held is not None:
        item, ticket = client.held
        client.begin("done", client.content)
        client.held = None
        group.call(name, encode_call("queue", "q", "done", item, ticket))
    elif rng.random() < 0.5:
        content = b"%s%d" % (name.encode(), client.world.now)
        client.begin("put", content)
        group.call(name, encode_call("queue", "q", "put", content))
    else:
        client.begin("take")
        group.call(name, encode_call("queue", "q", "take"))


def look_queue(client: Client) -> None:
    queue = client.objects().get("queue", "q")
    assert isinstance(queue, QueueState)
    answered, answer = client.answer()
    if answered and client.open is not None:
        if client.open[0] == "take":
            assert isinstance(answer, int)
            client.ticket = answer
        else:
            client.end(answer)
    if client.ticket >= 0:
        item = queue.given(client.ticket)
        if item is not None:
            client.held, client.content = (item, client.ticket), queue.items[item]
            client.end(client.content)
        elif not queue.knows(client.ticket):
            client.give_up()


Play = tuple[Callable[[Client, random.Random], None], Callable[[Client], None], Model]
PLAYS: dict[str, Play] = {
    "map": (act_map, look_map, MapModel()),
    "lock": (act_lock, look_lock, LockModel()),
    "queue": (act_queue, look_queue, QueueModel()),
}


def judged(world: World, model: Model) -> str:
    """Calls that are open at the end may have counted."""
    for client in world.clients.values():
        client.give_up()
    return explain(
        [call for call in world.history if call.operation != "gone" or not isinstance(model, MapModel)], model
    )


@pytest.mark.parametrize("kind", sorted(PLAYS))
def test_histories_are_linearizable(kind: str) -> None:
    act, look, model = PLAYS[kind]
    happened: Counter[str] = Counter()
    for seed in range(60):
        world = World(seed, act, look)
        happened += world.group.happened
        happened.update(call.operation for call in world.history if call.end != NEVER or call.operation == "gone")
        why = judged(world, model)
        assert not why, f"seed {seed}: {why}"
    assert happened["crashes"] > 10 and happened["cuts"] > 10, happened
    wanted = {"map": ["get", "compare_and_set"], "lock": ["acquire", "release", "gone"], "queue": ["take", "done"]}
    for what in wanted[kind]:
        assert happened[what] > 25, happened


def test_a_planted_stale_read_is_found() -> None:
    found = [explain_seed(seed, act_map_stale, look_map, MapModel()) for seed in range(10)]
    assert sum(map(bool, found)) > 5


def explain_seed(
    seed: int, act: Callable[[Client, random.Random], None], look: Callable[[Client], None], model: Model
) -> str:
    return judged(World(seed, act, look), model)


def test_a_planted_double_lock_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the holder is asked for only where nobody waits."""

    def grant(self: LockState) -> None:
        if self.waiting:
            self.holder = self.waiting.popleft()
            self.token += 1
            self.listeners.tell(None)

    monkeypatch.setattr(LockState, "_maybe_grant", grant)
    found = [explain_seed(seed, act_lock, look_lock, LockModel()) for seed in range(10)]
    assert sum(map(bool, found)) > 5
