"""Tidemark, a SQLite extension: a partitioned, compressed, append-only log with exactly-once export."""
import pathlib
from importlib import metadata

__version__ = metadata.version("sqlite-tidemark")
_HERE = pathlib.Path(__file__).resolve().parent


def loadable_path():
    """Where tidemark is, as sqlite3.Connection.load_extension() takes it."""
    return str(_HERE / "tidemark")


def net_loadable_path():
    """Where tidemark_net is, which adds the targets s3, http and https to a connection that has tidemark."""
    return str(_HERE / "tidemark_net")


def _load(conn, path):
    conn.enable_load_extension(True)
    try:
        conn.load_extension(path)
    finally:
        conn.enable_load_extension(False)


def load(conn):
    """Loads tidemark into a sqlite3.Connection, which may load no other extension afterwards."""
    _load(conn, loadable_path())


def load_net(conn):
    """Loads tidemark_net; load() comes first."""
    _load(conn, net_loadable_path())
