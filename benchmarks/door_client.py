"""A client process for `benchmarks/door`: `python -m benchmarks.door_client URL TOKEN FINGERPRINT WHAT …`; says
`ready`, begins at a line of stdin, and answers with the seconds it took."""

import json
import sys
import time

import tocsin

PUBLISHED_TOGETHER = 65_536


def main() -> None:
    url, token, fingerprint, what, *rest = sys.argv[1:]
    numbers = [int(word) for word in rest]
    with tocsin.connect(url, token=token, fingerprint=fingerprint or None) as client:
        client.groups()
        client.publish([b"warm"])
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        if what == "publish":
            count, size = numbers
            together = max(1, min(PUBLISHED_TOGETHER, (16 << 20) // size))
            for first in range(0, count, together):
                client.publish([bytes(size)] * min(together, count - first))
        elif what == "read":
            after, limit = numbers
            assert sum(batch.num_rows for batch in client.read(after=after, limit=limit)) == limit
        elif what == "read_on":  # again and again, for so many seconds
            rows = 0
            while time.monotonic() - began < numbers[0]:
                rows += sum(batch.num_rows for batch in client.read(limit=1_000_000))
            print(json.dumps({"rows": rows, "seconds": time.monotonic() - began}), flush=True)
            return
        else:
            took = []
            for _ in range(numbers[0]):
                before = time.monotonic()
                client.publish([b"probe"])
                took.append(time.monotonic() - before)
                time.sleep(max(0.0, 0.01 - took[-1]))
            print(json.dumps({"p50_ms": round(1000 * sorted(took)[len(took) // 2], 3)}), flush=True)
            return
        print(json.dumps({"seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
