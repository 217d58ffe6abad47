"""A job queue with workers: each job goes to one worker; the jobs of a worker that dies go to another.

    tocsin init jobs
    python examples/job_queue.py jobs/group.toml a work      (b work in another terminal)
    python examples/job_queue.py jobs/group.toml c put       lines of stdin are jobs; it works, too

A job is done when `done()` says True: exactly once. A handler may run twice for one job (the first worker was killed,
or cut off, after the work and before it could say so), so the work itself should stand that, or use the answer.
"""

import asyncio
import signal
import sys

import tocsin


async def work(shared: tocsin.recipes.Shared, site: str) -> None:
    jobs = shared.queue("jobs")
    while True:
        job = await jobs.take()
        await asyncio.sleep(0.01)  # the work
        counts = await job.done()
        print(f"{site} {'did' if counts else 'did in vain'} {job.content.decode()}", flush=True)


async def put(shared: tocsin.recipes.Shared) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    jobs = shared.queue("jobs")
    while line := await lines.readline():
        await jobs.put(line.rstrip(b"\n"))  # when this returns, no crash of a minority loses it
        print(f"queued {line.decode().rstrip()}", flush=True)


async def main() -> None:
    group, site, role = sys.argv[1:]
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with tocsin.recipes.open(group, site) as shared:
        tasks = [asyncio.create_task(each) for each in (work(shared, site), stop.wait())]
        putting = asyncio.create_task(put(shared)) if role == "put" else None
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in [*tasks, *([putting] if putting else [])]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
