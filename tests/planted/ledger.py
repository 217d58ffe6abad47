"""What was tried already, under `out/`: a folder for each state of the sources, so that a stopped command goes on."""

import hashlib
from pathlib import Path

import msgspec

from tests.planted.trials import Survey, Trial

ROOT = Path(__file__).parents[2]
TOOL = ("catchers", "judging", "planting", "plots", "trials", "watch")  # of this folder; the others only tell
SHARED = ("src/tocsin/core", "src/tocsin/planning", "src/tocsin/properties", "src/tocsin/sim", "src/tocsin/traces")


class Ledger:
    """The survey and the trials of one protocol."""

    def __init__(self, protocol: str, effort: float) -> None:
        self.folder = ROOT / "out" / "planted" / f"{protocol}-{_fingerprint(protocol)}-{effort:g}"
        self._survey = self.folder / "survey.json"
        self._trials = self.folder / "trials.jsonl"

    def survey(self) -> Survey | None:
        return msgspec.json.decode(self._survey.read_bytes(), type=Survey) if self._survey.exists() else None

    def keep_survey(self, survey: Survey) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._survey.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.json.encode(survey))
        unfinished.replace(self._survey)

    def trials(self) -> dict[str, Trial]:
        if not self._trials.exists():
            return {}
        lines = self._trials.read_bytes().splitlines(keepends=True)
        trials = [msgspec.json.decode(line, type=Trial) for line in lines if line.endswith(b"\n")]
        return {trial.name: trial for trial in trials}

    def keep_trial(self, trial: Trial) -> None:
        with self._trials.open("ab") as file:
            file.write(msgspec.json.encode(trial) + b"\n")


def _fingerprint(protocol: str) -> str:
    """Of everything that a trial's outcome rests on."""
    folders = [ROOT / folder for folder in SHARED]
    folders += [path.parent for path in (ROOT / "src/tocsin/protocols").rglob(f"{protocol}/machine.py")]
    folders += [ROOT / "tests/golden" / protocol, ROOT / "tests/protocols" / protocol]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".txt")]
    files += [ROOT / "tests/mutation.py", *(ROOT / "tests/protocols").glob("*.py")]
    files += [ROOT / "tests/planted" / f"{name}.py" for name in TOOL]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
