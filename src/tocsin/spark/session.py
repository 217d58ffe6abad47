"""The one place that starts Spark: small machines, quiet consoles, clusters and Spark Connect.

A session is local unless `master` says otherwise: `spark://…`, `yarn`, `k8s://…` reach a cluster, `sc://…` a Spark
Connect server. Everything else in the library uses the DataFrame API alone and cannot tell them apart.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from tocsin.core.errors import EnvironmentMissing, InputError
from tocsin.spark.class_archive import archive_flags
from tocsin.spark.java import cache_folder, find_java, java_home_for_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROBE_SECONDS_MAX = 5.0  # Spark itself retries an unreachable master for a minute, Connect for ten
LOCAL_DRIVER_MEMORY_MAX = 4 << 30  # the JVM only moves small tables, unless a trace has to be sorted
JVM_EXIT_SECONDS_MAX = 200.0  # writing a class archive takes 10 s, more on a busy machine

# C1 and the serial collector: the JVM hardly works in an audit or a sweep, and both spare 2 s of every start.
JVM_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_SHIPPED: "WeakKeyDictionary[Any, set[str]]" = WeakKeyDictionary()  # by session: archives it has

_QUIET_LOG = """\
status = off
rootLogger.level = off
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a caller may say about the session; the command line's `--master` and `--spark key=value`."""

    master: str | None = None  # None: this machine, all cores
    settings: dict[str, str] = field(default_factory=dict)  # Spark's own keys; they win over ours
    name: str = "tocsin"

    @property
    def is_local(self) -> bool:
        return self.master is None or self.master.startswith("local")

    @property
    def is_connect(self) -> bool:
        return self.master is not None and self.master.startswith("sc://")


def parse_settings(words: list[str]) -> dict[str, str]:
    """`--spark key=value`, any number of times."""
    settings: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--spark: expected key=value, found `{word}`")
        settings[key.strip()] = value
    return settings


@contextlib.contextmanager
def open_session(options: SessionOptions) -> Iterator["SparkSession"]:
    """A running session, stopped at the end. `EnvironmentMissing` names what is missing, and the cure."""
    session = start_session(options)
    try:
        yield session
    finally:
        session.stop()


@contextlib.contextmanager
def given_or_local(session: "SparkSession | None", name: str) -> Iterator["SparkSession"]:
    """The caller's session, left running; or, if there is none, a local one, stopped at the end."""
    if session is not None:
        yield session
        return
    with open_session(SessionOptions(name=name)) as started:
        yield started


def start_session(options: SessionOptions) -> "SparkSession":
    _require_pyspark()
    if not options.is_local and options.master is not None:
        _probe(options.master)
    try:
        session = _start_connect(options) if options.is_connect else _start_classic(options)
    except EnvironmentMissing:
        raise
    except Exception as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise EnvironmentMissing(
            f"Spark did not start ({line}): check --master and --spark, and JAVA_HOME if it is set"
        ) from error
    if not options.is_local:
        package = Path(__file__).parents[1]  # workers run this very version, whether tocsin is installed there or not
        files = {path.relative_to(package.parent).as_posix(): path for path in sorted(package.rglob("*.py"))}
        ship_modules(session, "tocsin", files)
    return session


def is_connect_session(session: "SparkSession") -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_local_session(session: "SparkSession") -> bool:
    """Whether its tasks run on this machine and see its files."""
    return not is_connect_session(session) and session.sparkContext.master.startswith("local")


def cancel_all(session: "SparkSession") -> None:
    """End every running job of the session."""
    if is_connect_session(session):
        session.interruptAll()
    else:
        session.sparkContext.cancelAllJobs()


def cores_of(session: "SparkSession", options: SessionOptions) -> int:
    """How many tasks run at once: what the cluster says, else this machine's cores."""
    if is_connect_session(session):
        return int(options.settings.get("spark.default.parallelism", os.cpu_count() or 1))
    return int(session.sparkContext.defaultParallelism)


def ship_modules(session: "SparkSession", name: str, files: Mapping[str, Path]) -> None:
    """Let workers import Python files, each by its path in an archive; what the session has already is not sent again.

    Folders are entries of their own: without them Python does not find packages that have no `__init__.py`.
    """
    shipped = _SHIPPED.setdefault(session, set())
    contents = {path: file.read_bytes() for path, file in sorted(files.items())}
    digest = hashlib.blake2b(digest_size=8)
    for path, data in contents.items():
        digest.update(f"{path} {len(data)} ".encode() + data)
    archive_name = f"{name}-{digest.hexdigest()}.zip"
    if archive_name in shipped:
        return
    folder = tempfile.mkdtemp(prefix="tocsin-sources-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # workers may ask for it as long as the session lives
    archive = Path(folder) / archive_name
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for inside in sorted({str(parent) for path in contents for parent in PurePosixPath(path).parents} - {"."}):
            file.mkdir(inside)
        for path, data in contents.items():
            file.writestr(path, data)
    session.addArtifacts(str(archive), pyfile=True)
    shipped.add(archive_name)


def wait_for_jvm() -> None:
    """End the JVM of this process's classic sessions and wait until it is gone (it may be writing its archive)."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.proc.stdin.close()
    gateway.proc.wait(JVM_EXIT_SECONDS_MAX)
    SparkContext._gateway = None
    SparkContext._jvm = None


def _require_pyspark() -> None:
    missing = []
    for module in ("pyspark", "pandas"):  # Spark's Arrow functions need pandas too
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if missing:
        raise EnvironmentMissing(f"{' and '.join(missing)} not installed: run `pip install 'tocsin[spark]'`")


def _start_classic(options: SessionOptions) -> "SparkSession":
    from pyspark.sql import SparkSession

    java = find_java()
    settings = _classic_settings(options)
    user_flags = settings.get("spark.driver.extraJavaOptions", "")
    flags = f"{JVM_FLAGS} {archive_flags(java, JVM_FLAGS)} -Dlog4j2.configurationFile={_quiet_log()} {user_flags}"
    settings["spark.driver.extraJavaOptions"] = flags
    builder: Any = SparkSession.builder.master(options.master or "local[*]").appName(options.name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    environment = {
        "JAVA_HOME": str(java_home_for_spark(java)),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "SPARK_LAUNCHER_OPTS": os.environ.get("SPARK_LAUNCHER_OPTS", JVM_FLAGS),
    }
    if options.is_local:
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    wants_log = "spark.log.level" in options.settings
    quiet = contextlib.nullcontext() if wants_log else _stderr_to(_jvm_log())
    with _environment(environment), quiet, _no_jvm_left_behind(), _own_interrupts():
        session: SparkSession = builder.getOrCreate()
    return session


@contextlib.contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep whoever handles Ctrl-C now. Spark puts a handler in its place that calls the JVM in the middle of another
    call, which fails with pages of tracebacks."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _no_jvm_left_behind() -> Iterator[None]:
    """A JVM whose start was interrupted does not notice that nobody waits for it any more, and would stay for ever."""
    before = _children()
    try:
        yield
    except BaseException:
        for child in _children() - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        raise


def _children() -> set[int]:
    """This process' own, where the system tells (Linux)."""
    listed = Path("/proc/self/task").glob("*/children")
    return {int(number) for file in listed for number in file.read_text().split()}


def _start_connect(options: SessionOptions) -> "SparkSession":
    try:
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as error:
        raise EnvironmentMissing(
            f"Spark Connect needs more packages ({error}): run `pip install 'pyspark[connect]'`"
        ) from None
    builder: Any = ConnectSession.builder.remote(options.master)
    for key, value in options.settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _classic_settings(options: SessionOptions) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",  # 30 ms of overhead a Python task instead of 56
        "spark.python.worker.reuse": "true",
        "spark.sql.python.filterPushdown.enabled": "true",  # of `format("tocsin")`
    }
    if options.is_local:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_local_driver_memory() >> 20}m",
            "spark.sql.shuffle.partitions": str(cores),
        }
    return settings | options.settings


def _local_driver_memory() -> int:
    """Half of the machine's memory, at most what the JVM can use."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        physical = LOCAL_DRIVER_MEMORY_MAX
    return min(LOCAL_DRIVER_MEMORY_MAX, max(physical // 2, 512 << 20))


def _quiet_log() -> Path:
    """Nothing on the console but what we print; `--spark spark.log.level=INFO` brings Spark's log back."""
    path = cache_folder("spark") / "log4j2.properties"
    if not path.is_file() or path.read_text() != _QUIET_LOG:
        temporary = path.with_name(f".{os.getpid()}.{path.name}")
        temporary.write_text(_QUIET_LOG)
        os.replace(temporary, path)
    return path


def _jvm_log() -> Path:
    """Where the JVM and Spark's Python daemons write: at the end they sometimes print tracebacks that mean nothing."""
    return cache_folder("spark") / "stderr.log"


@contextlib.contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Processes that are started meanwhile, and theirs, write their stderr to a file."""
    sys.stderr.flush()
    ours = os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)
        os.close(ours)


def _probe(master: str) -> None:
    """A quick answer when nobody listens at the master's address, instead of minutes of retries."""
    parts = urlsplit(master)
    if parts.scheme not in ("spark", "sc"):
        return
    default_port = 15002 if parts.scheme == "sc" else 7077
    addresses = [address for address in parts.netloc.rsplit("@", 1)[-1].split(",") if address]
    for address in addresses:
        host, _, port = address.partition(":")
        try:
            with socket.create_connection((host, int(port or default_port)), PROBE_SECONDS_MAX):
                return
        except ValueError:
            raise InputError(f"--master: expected host:port, found `{address}`") from None
        except OSError:
            continue
    raise EnvironmentMissing(f"nobody listens at {master}: start the Spark master, or leave --master out to run here")


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that the JVM must inherit, put back afterwards: the caller's environment is not ours to change."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
