"""What the checks of tests/packages share: a command with its time-out, and what each must hold."""
import os
import subprocess


class Failure(Exception):
    """What was expected and is not so; str() is a sentence."""


def expect(condition, sentence):
    if not condition:
        raise Failure(sentence)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: {found!r}, expected {wanted!r}")


def run(*command, cwd=None, seconds=120, **variables):
    """The command's output, both streams; one that fails is a Failure that shows it."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=cwd, timeout=seconds, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, **variables})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{command[0]} did not run: {error}") from error
    expect(done.returncode == 0, f"{' '.join(str(word) for word in command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def shell(*statements, **variables):
    """What the sqlite3 shell prints; it knows nothing of the extension that `statements` do not load."""
    return run("sqlite3", "-batch", "-bail", "-noheader", ":memory:", *statements, cwd="/", **variables)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
