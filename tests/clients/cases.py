"""What is asked of each host: its program of sql/examples/clients is run as people run it, and what left is counted.

Each case gets an empty folder and says what is wrong by an AssertionError.
"""
import collections
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import archive

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent.parent / "sql/examples/clients"

Host = collections.namedtuple("Host", "name program command environment")
Bench = collections.namedtuple("Bench", "module kill_at preload")


def environment_of(host, bench, kill_at=None):
    environment = {**os.environ, **host.environment, "TZ": "UTC", "LC_ALL": "C.UTF-8",
                   "HOME": "/nowhere"}  # without anybody's ~/.sqliterc
    preloaded = [bench.preload] if bench.preload else []
    if kill_at is not None:
        # PHP loads its own with RTLD_DEEPBIND, past what is preloaded, unless it is there already.
        preloaded += [str(bench.kill_at), "libsqlite3.so.0"]
        environment["TIDE_KILL_AT"] = str(kill_at)
    if preloaded:
        environment["LD_PRELOAD"] = " ".join(preloaded)
    return environment


def start(host, bench, scratch, rows, kill_at=None):
    (scratch / "archive").mkdir(exist_ok=True)
    command = [*host.command, PROGRAMS / host.program, bench.module, "events.db", "archive", str(rows)]
    return subprocess.Popen(command, cwd=scratch, env=environment_of(host, bench, kill_at), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process):
    """What it printed; it must have come to its end."""
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, f"status {process.returncode}: {output}"
    return output


def use(host, bench, scratch, rows):
    """Runs it and gives its process number and output."""
    process = start(host, bench, scratch, rows)
    return process.pid, finish(process)


def told(host, process, since, rows):
    """What the program prints when it is alone: its rows, and that the second tick has nothing to do."""
    lines = [f"{since + n} {host.name} {n % 2} row {n} of process {process}" for n in range(1, rows + 1)]
    return "\n".join([*lines, f"first tick: {rows} rows, 0 failed", "second tick: 0 rows, 0 failed", ""])


def runs(hosts, bench, scratch):
    """In turn on one file, twice round: each says what it did, and each row leaves once."""
    committed = {}
    since = 0
    for rows in (3, 2):
        for host in hosts:
            process, output = use(host, bench, scratch, rows)
            expected = told(host, process, since, rows)
            assert output == expected, f"{host.name} printed {output!r}, expected {expected!r}"
            committed[host.name, process] = rows
            since += rows
    archive.check(scratch, committed, {})


def idles(hosts, bench, scratch):
    """With nothing to append a whole run leaves every byte of database and folder as it was."""
    use(hosts[0], bench, scratch, 3)
    before = archive.fingerprint(scratch)
    for host in hosts:
        process, output = use(host, bench, scratch, 0)
        assert output == told(host, process, 3, 0), output
        assert archive.fingerprint(scratch) == before, f"{host.name} wrote"


def until_they_live(hosts, bench, scratch, stride, committed, lost):
    """Runs killed before their first change of a file, then before a later one, each by the next host, until every host
    has come to its end."""
    turn, lived = 0, 0
    while lived < len(hosts):
        host = hosts[turn % len(hosts)]
        at = 1 + turn * stride
        process = start(host, bench, scratch, 3, at)
        output = process.communicate(timeout=60)[0]
        killed = process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        assert killed or process.returncode == 0, f"{host.name} killed at {at}: {process.returncode}: {output}"
        lived = 0 if killed else lived + 1
        (lost if killed else committed)[host.name, process.pid] = 3
        turn += 1


def survives(hosts, bench, scratch):
    """From no file on, and then from a dataset on, where the changes are those of appending and ticking."""
    committed, lost = {}, {}
    until_they_live(hosts, bench, scratch, 9, committed, lost)
    until_they_live(hosts, bench, scratch, 3, committed, lost)
    use(hosts[0], bench, scratch, 0)
    arrived = archive.check(scratch, committed, lost)
    assert 3 < arrived < len(lost) - 3, f"{arrived} of {len(lost)} that were killed had committed: expected some"


def together(hosts, bench, scratch):
    """All at once, each of them twice, on a file that is not there yet."""
    processes = [(host, start(host, bench, scratch, rows)) for rows in (5, 4) for host in hosts]
    outputs = [finish(process) for _, process in processes]
    committed = {(host.name, process.pid): output.count(f" of process {process.pid}\n")
                 for (host, process), output in zip(processes, outputs)}
    assert sorted(committed.values()) == sorted([5, 4] * len(hosts)), outputs
    use(hosts[0], bench, scratch, 0)
    archive.check(scratch, committed, {})


def tells(hosts, bench, scratch):
    """When a file stands where the dataset's folder is to be, each says so; once it is away, all arrives."""
    committed = {}
    (scratch / "archive").mkdir()
    (scratch / "archive/events").touch()
    for host in hosts:
        process, output = use(host, bench, scratch, 3)
        committed[host.name, process] = 3
        assert re.search(r"^failed: .*/archive/events", output, re.MULTILINE), output
    (scratch / "archive/events").unlink()
    connection = sqlite3.connect(scratch / "events.db", isolation_level=None)
    connection.execute("UPDATE tidemark_batch SET not_before = 0")
    connection.close()
    use(hosts[0], bench, scratch, 0)
    archive.check(scratch, committed, {})


def claims(hosts, bench, scratch):
    """What its comments say does not work: claims/NAME.* prints what claims/NAME.expected has."""
    for host in hosts:
        folder = scratch / host.name
        folder.mkdir()
        script = HERE / "claims" / host.program
        done = subprocess.run([*host.command, script, bench.module], cwd=folder, env=environment_of(host, bench),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        expected = (HERE / "claims" / f"{host.name}.expected").read_text()
        assert done.stdout == expected, f"{script.name} printed\n{done.stdout}expected\n{expected}"


EACH = [runs, idles, tells, survives, claims]
ALL = [runs, survives, together]
