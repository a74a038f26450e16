"""What arrived at a sink, counted without Tidemark: how often each id, and whether rows came as they were written."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "forward"))
from receiver import Answer, Receiver  # noqa: E402

LOOKED_AT = 32  # one row in so many is compared as a whole
PREFIX = b'{"id":'


class Ledger:
    def __init__(self, records):
        self._records = records
        self._times = bytearray()  # of id
        self._strange = 0

    def take(self, lines):
        for line in lines:
            id = int(line[len(PREFIX):line.index(b",")])
            if id >= len(self._times):
                self._times.extend(bytes(id + 1 - len(self._times)))
            self._times[id] = min(self._times[id] + 1, 255)
            if id % LOOKED_AT == 0 and json.loads(line) != self._records.row(id):
                self._strange += 1

    def faults(self, committed):
        """A sentence for each thing that is wrong when ids 0 to committed - 1 were to come, each once."""
        within, beyond = self._times[:committed], self._times[committed:]
        counts = {
            "rows are missing": committed - len(within) + within.count(0),
            "rows came more than once": len(within) - within.count(0) - within.count(1),
            "rows came that were never committed": len(beyond) - beyond.count(0),
            "rows are not as they were written": self._strange}
        return [f"{count:,} {what}" for what, count in counts.items() if count]


class Receiving(Receiver):
    """A receiver that keeps counts instead of rows: an hour of rows would not fit into memory."""

    def __init__(self, ledger):
        super().__init__()
        self.requests = Nothing()
        self._ledger = ledger

    def _take(self, key, lines):
        self._ledger.take([line.encode() for line in lines])
        self._db.execute("INSERT INTO received VALUES (?, 200, '')", (key,))
        return Answer(200)


class Nothing:
    def append(self, _):
        pass


def read_folder(folder, ledger):
    """Each *.ndjson.zst below the folder, in any order; gives how many there were."""
    files = sorted(pathlib.Path(folder).rglob("*.ndjson.zst"))
    for file in files:
        with subprocess.Popen(["zstd", "-dcq", file], stdout=subprocess.PIPE) as process:
            ledger.take(process.stdout)
        if process.returncode != 0:
            raise OSError(f"zstd does not read {file}")
    return len(files)
