"""The s3 target against a service that checks every signature: an OpenStack Swift of this machine (s3/swift_server.py).

It puts, reads, lists and exports with the build's tidemark.so, tidemark_net.so and s3_tool; what is in the bucket
afterwards is told by another client (s3/client.py). Swift refuses conditional requests ("NotImplemented"), so this is
also what Tidemark does where there are none; the other kind is scripted in tests/unit/test_target_s3.c.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import traceback

from readers import MODULE, Checks

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "s3"))
import client  # noqa: E402
import gate  # noqa: E402
import swift_server as swift  # noqa: E402

PART = 5 << 20


class World:
    """A Swift, a bucket in it, and the programs under test."""

    def __init__(self, server):
        self.build, self.scratch, self.port = pathlib.Path(MODULE).parent.parent, pathlib.Path.cwd(), server.port
        self.client = client.Client(server.port, swift.KEY, swift.SECRET, swift.REGION, "tide-marks")
        self.client.make_bucket()
        self.url = "s3://tide-marks/lake"
        self.endpoint = f"http://127.0.0.1:{server.port}"
        self.virtual_endpoint = f"http://{swift.DOMAIN}:{server.port}"
        self.options = {"endpoint": self.endpoint, "region": swift.REGION, "part_size": PART}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.environment.update(AWS_ACCESS_KEY_ID=swift.KEY, AWS_SECRET_ACCESS_KEY=swift.SECRET)

    def tool(self, *arguments, options=None, environment=None, status=0, url=None):
        """What s3_tool prints."""
        command = [self.build / "tests/interop/s3_tool", url or self.url,
                   json.dumps(dict(self.options, **(options or {}))), *arguments]
        done = subprocess.run(command, env=dict(self.environment, **(environment or {})), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == status, (done.returncode, done.stdout[:600])
        return done.stdout

    def sql(self, database, script, status=0):
        """What sqlite3 prints, with both extensions loaded."""
        load = f".load {self.build}/ext/tidemark.so\n.load {self.build}/ext/tidemark_net.so\n"
        done = subprocess.run(["sqlite3", "-batch", self.scratch / database], input=(load + script).encode(),
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert status is None or done.returncode == status, (done.returncode, done.stdout.decode(errors="replace"))
        return done.stdout.decode()


def pattern(size):
    """The bytes that s3_tool writes."""
    return bytes(((at * 2654435761) >> 13) & 0xFF for at in range(size))


def an_object_is_put_once(world):
    assert world.tool("put", "once/a.bin", "1000") == b"taken\n"
    assert world.client.get("lake/once/a.bin") == pattern(1000)
    assert world.tool("put", "once/a.bin", "1000") == b"exists\n"


def another_object_of_that_name_stays(world):
    world.client.put("lake/other/a.bin", b"somebody else's")
    assert world.tool("put", "other/a.bin", "1000") == b"exists\n"
    assert world.client.get("lake/other/a.bin") == b"somebody else's"


def an_object_of_several_parts_is_one(world):
    size = 2 * PART + 12345
    assert world.tool("put", "parts/a.bin", str(size)) == b"taken\n"
    content = world.client.get("lake/parts/a.bin")
    assert content == world.tool("cat", "parts/a.bin")
    assert len(content) == size and content[:70000] == pattern(70000)
    assert world.client.uploads() == []
    assert world.tool("put", "parts/a.bin", str(size)) == b"exists\n"
    assert world.client.uploads() == []


def one_killed_between_parts_leaves_nothing_once_it_is_tried_again(world):
    size = str(2 * PART + 1)
    world.tool("put", "killed/a.bin", size, "die", status=-signal.SIGKILL)
    assert world.client.uploads() == ["lake/killed/a.bin"]
    assert world.client.get("lake/killed/a.bin") is None
    assert world.tool("put", "killed/a.bin", size, "again") == b"taken\n"
    assert world.client.uploads() == []
    assert len(world.client.get("lake/killed/a.bin")) == int(size)


def a_longer_name_s_upload_is_left_alone_by_a_retry(world):
    size = str(2 * PART)
    world.tool("put", "near/a.bin.more", size, "die", status=-signal.SIGKILL)
    assert world.tool("put", "near/a.bin", "10", "again") == b"taken\n"
    assert world.client.uploads() == ["lake/near/a.bin.more"]
    world.tool("sweep", "a.bin", "near")
    assert world.client.uploads() == []


def a_sweep_takes_what_is_of_the_log_and_nobody_s(world):
    for name in ("swept/1-2.aaaa.bin", "swept/3-4.aaaa.bin", "swept/5-6.bbbb.bin", "beside/7-8.aaaa.bin"):
        world.tool("put", name, str(PART + 1), "die", status=-signal.SIGKILL)
    world.tool("sweep", "aaaa", "swept", "swept/3-4.aaaa.bin", environment={"TIDE_S3_PAGE": "2"})
    assert world.client.uploads() == ["lake/beside/7-8.aaaa.bin", "lake/swept/3-4.aaaa.bin", "lake/swept/5-6.bbbb.bin"]
    # Another sink, whose prefix ours begins with, leaves what is open here.
    world.tool("sweep", "aaaa", "", "swept/3-4.aaaa.bin", url="s3://tide-marks")
    assert world.client.uploads() == ["lake/swept/3-4.aaaa.bin", "lake/swept/5-6.bbbb.bin"]
    for log in ("aaaa", "bbbb"):
        world.tool("sweep", log, "")
    assert world.client.uploads() == []


def the_bucket_may_be_in_the_host_s_name(world):
    options = {"endpoint": world.virtual_endpoint, "path_style": False}
    assert world.tool("put", "virtual/a.bin", str(PART + 7), options=options) == b"taken\n"
    assert world.client.get("lake/virtual/a.bin") == world.tool("cat", "virtual/a.bin", options=options)
    assert world.tool("list", "virtual", options=options) == f"virtual/a.bin {PART + 7}\n".encode()


def names_with_percent_signs_are_what_they_are(world):
    name = "names/source=a%2Fb%20c/day=~x_y.z/1-2.bin"
    assert world.tool("put", name, "10") == b"taken\n"
    assert world.client.keys("lake/names/") == ["lake/" + name]
    assert world.tool("cat", name) == pattern(10)
    assert world.tool("list", "names/source=a%2Fb%20c") == f"{name} 10\n".encode()


def a_session_token_is_signed_too(world):
    assert world.tool("put", "token/a.bin", "10", environment={"AWS_SESSION_TOKEN": "FwoGZXIvYXdzE/+="}) == b"taken\n"


def a_listing_goes_over_its_pages(world):
    for i in range(7):
        world.client.put(f"lake/list/{i}", b"x" * i)
    world.client.put("lake/list/not a name", b"")
    world.client.put("lake/lister", b"")
    everything = "".join(f"list/{i} {i}\n" for i in range(7)).encode()
    for page in ("1", "3", "1000"):
        assert world.tool("list", "list", environment={"TIDE_S3_PAGE": page}) == everything
    assert world.tool("list", "list", "list/4", environment={"TIDE_S3_PAGE": "1"}) == b"list/5 5\nlist/6 6\n"
    assert world.tool("list", "no-such-folder") == b""


def a_small_object_is_replaced(world):
    world.tool("replace", "mark/m.json", "one")
    world.tool("replace", "mark/m.json", "three")
    assert world.client.get("lake/mark/m.json") == b"three"


def what_is_not_there_is_said_so(world):
    assert world.tool("cat", "nothing", status=1) == b"14 s3://tide-marks/lake/nothing does not exist\n"
    missing = world.tool("cat", "nothing", url="s3://no-such-bucket", status=1)
    assert missing.startswith(b"1 reading s3://no-such-bucket/nothing: there is no such bucket"), missing
    missing = world.tool("put", "a", "1", url="s3://no-such-bucket", status=1)
    assert missing.startswith(b"1 putting s3://no-such-bucket/a: there is no such bucket"), missing


def a_wrong_secret_is_said_so_and_not_shown(world):
    said = world.tool("put", "a", "1", environment={"AWS_SECRET_ACCESS_KEY": "not-the-secret"}, status=1)
    assert said == (b"3 putting s3://tide-marks/lake/a: the secret key in AWS_SECRET_ACCESS_KEY is not the access "
                    b"key's (403 SignatureDoesNotMatch)\n"), said
    said = world.tool("put", "a", "1", environment={"AWS_ACCESS_KEY_ID": "test:stranger"}, status=1)
    assert said.startswith(b"3 ") and b"stranger" not in said, said
    said = world.tool("put", "a", "1", environment={"AWS_ACCESS_KEY_ID": "test:guest"}, status=1)
    assert said.startswith(b"3 putting s3://tide-marks/lake/a: the access key in AWS_ACCESS_KEY_ID may not"), said


def another_region_is_named(world):
    said = world.tool("put", "a", "1", options={"region": "us-east-1"}, status=1)
    assert said.startswith(b"1 putting s3://tide-marks/lake/a: the bucket is in region eu-north-1, not us-east-1"), said


SINK = """CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows)
  VALUES ('lake', 'logs', '{url}', 'ndjson', '{options}', 1000);
INSERT INTO logs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
  SELECT 'a/b c%' || (i % 3), hex(randomblob(20)) FROM n;
"""


def make_sink(world, database, url, endpoint):
    world.sql(database, SINK.format(url=url, options=json.dumps({"endpoint": endpoint, "region": swift.REGION})))


def export(world, database):
    return json.loads(world.sql(database, "SELECT tidemark_export('lake', 'now');"))


def bodies_in(world, prefix):
    """The bodies of all rows in the objects of a prefix, and the objects' keys."""
    keys = [key for key in world.client.keys(prefix) if "/logs/" in key]
    return sorted(json.loads(line)["body"] for key in keys for line in world.client.get(key).splitlines()), keys


def bodies_of(world, database):
    return sorted(world.sql(database, "SELECT body FROM logs;").splitlines())


def an_export_arrives_whole_and_once(world):
    make_sink(world, "export.db", "s3://tide-marks/sql", world.endpoint)
    said = export(world, "export.db")
    assert said["batches"] == 3 and said["rows"] == 3000, said
    arrived, keys = bodies_in(world, "sql/")
    assert arrived == bodies_of(world, "export.db")
    assert len(keys) == 3 and all("/source=a%2Fb%20c%25" in key for key in keys), keys
    assert export(world, "export.db")["batches"] == 0


def kill_export(world, database, door, method, nth, when):
    """A tick that is killed when its nth request of that method is asked or answered."""
    load = f".load {world.build}/ext/tidemark.so\n.load {world.build}/ext/tidemark_net.so\n"
    process = subprocess.Popen(["sqlite3", "-batch", world.scratch / database], env=world.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    door.kill = (process, method, nth, when)
    process.communicate((load + "SELECT tidemark_export('lake', 'now');\n").encode())
    assert process.returncode == -signal.SIGKILL, process.returncode


def an_export_killed_on_its_way_is_taken_up(world):
    # The first PUT is the tick's marker; then each object is put with a condition, which Swift refuses, and without.
    for nth, arrived in ((1, 0), (2, 0), (3, 1), (5, 2)):
        name = f"killed-{nth}"
        with gate.Gate(world.port) as door:
            make_sink(world, name + ".db", f"s3://tide-marks/{name}", f"http://127.0.0.1:{door.port}")
            kill_export(world, name + ".db", door, b"PUT", nth, "answered")
            before = {key: world.client.get(key) for key in bodies_in(world, name + "/")[1]}
            assert len(before) == arrived, (name, before.keys())
            world.sql(name + ".db", "INSERT INTO logs VALUES ('a/b c%0', 'one more');")
            said = export(world, name + ".db")
            assert said["failed"] == 0, said
        assert bodies_in(world, name + "/")[0] == bodies_of(world, name + ".db"), name
        assert all(world.client.get(key) == content for key, content in before.items()), name


TABLE = """CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows)
  VALUES ('lake', 'logs', '{url}', 'parquet', '{options}', 2);
INSERT INTO logs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
  SELECT 'a/b c%' || (i % 3), i FROM n;
"""


def a_folder_is_a_delta_table_too(world):
    """Ticks killed at some of their requests: each batch is one commit all the same."""
    for nth in (None, 4, 7):
        prefix = f"delta-{nth}"
        with gate.Gate(world.port) as door:
            options = {"endpoint": f"http://127.0.0.1:{door.port}", "region": swift.REGION, "table": "delta",
                       "single_writer": True}
            url = f"s3://tide-marks/{prefix}"
            world.sql(prefix + ".db", TABLE.format(url=url, options=json.dumps(options)))
            if nth is not None:
                kill_export(world, prefix + ".db", door, b"PUT", nth, "answered")
            said = export(world, prefix + ".db")
            assert said["failed"] == 0 and not said["more"], said
        log = f"{prefix}/logs/_delta_log/"
        keys = world.client.keys(log)
        commits = [key for key in keys if key.endswith(".json")]
        assert commits == [f"{log}{version:020d}.json" for version in range(12)], commits
        actions = [json.loads(line) for key in commits for line in world.client.get(key).splitlines()]
        paths = [action["add"]["path"].replace("%25", "%") for action in actions if "add" in action]
        objects = world.sql(prefix + ".db", "SELECT object FROM tidemark_export_log ORDER BY object;").splitlines()
        assert sorted("logs/" + path for path in paths) == objects, (nth, paths)
        assert all(world.client.get(f"{prefix}/{name}")[:4] == b"PAR1" for name in objects)
        pointer = json.loads(world.client.get(log + "_last_checkpoint"))
        checkpoint = world.client.get(f"{log}{pointer['version']:020d}.checkpoint.parquet")
        assert len(checkpoint) == pointer["sizeInBytes"] and pointer["numOfAddFiles"] == pointer["version"] + 1, pointer


def a_delta_table_of_several_writers_is_refused(world):
    """Swift cannot keep one commit from replacing another of the same version."""
    options = {"endpoint": world.endpoint, "region": swift.REGION, "table": "delta"}
    world.sql("several.db", TABLE.format(url="s3://tide-marks/several", options=json.dumps(options)))
    said = json.dumps(export(world, "several.db"))
    assert "cannot put an object only where there is none" in said and "single_writer" in said, said
    assert world.client.keys("several/logs/_delta_log/") == []
    assert world.sql("several.db", "SELECT count(*) FROM tidemark_export_log;") == "0\n"


def other_rows_under_the_object_s_name_stay(world):
    with gate.Gate(world.port) as door:
        make_sink(world, "other.db", "s3://tide-marks/rows", f"http://127.0.0.1:{door.port}")
        kill_export(world, "other.db", door, b"HEAD", 1, "asked")
        [name] = world.sql("other.db", "SELECT object FROM tidemark_batch;").split()
        world.client.put("rows/" + name, b'{"body":"else"}\n')
        said = export(world, "other.db")
    assert "holds other rows" in json.dumps(said), said
    assert world.client.get("rows/" + name) == b'{"body":"else"}\n'


def what_was_delivered_is_verified(world):
    make_sink(world, "verify.db", "s3://tide-marks/verify", world.endpoint)
    export(world, "verify.db")
    found = json.loads(world.sql("verify.db", "SELECT tidemark_verify('lake');"))
    assert found["ok"] and found["objects"] == 3, found
    keys = bodies_in(world, "verify/")[1]
    content = world.client.get(keys[0])
    world.client.put(keys[0], content.replace(b"A", b"B", 1))
    world.client.delete(keys[1])
    found = json.loads(world.sql("verify.db", "SELECT tidemark_verify('lake');"))
    assert not found["ok"] and [each["object"] for each in found["damaged"]] == [keys[0][len("verify/"):]], found
    assert found["missing"] == [keys[1][len("verify/"):]], found


def no_secret_is_in_the_database(world):
    make_sink(world, "secret.db", "s3://tide-marks/secret", world.endpoint)
    environment, world.environment = world.environment, dict(world.environment, AWS_SECRET_ACCESS_KEY="hush-hush-hush")
    said = export(world, "secret.db")
    world.environment = environment
    assert "AWS_SECRET_ACCESS_KEY" in json.dumps(said), said
    content = b"".join(path.read_bytes() for path in world.scratch.glob("secret.db*"))
    assert b"hush-hush" not in content and swift.KEY.encode() not in content and b"Signature=" not in content


TESTS = [
    an_object_is_put_once,
    another_object_of_that_name_stays,
    an_object_of_several_parts_is_one,
    one_killed_between_parts_leaves_nothing_once_it_is_tried_again,
    a_longer_name_s_upload_is_left_alone_by_a_retry,
    a_sweep_takes_what_is_of_the_log_and_nobody_s,
    the_bucket_may_be_in_the_host_s_name,
    names_with_percent_signs_are_what_they_are,
    a_session_token_is_signed_too,
    a_listing_goes_over_its_pages,
    a_small_object_is_replaced,
    what_is_not_there_is_said_so,
    a_wrong_secret_is_said_so_and_not_shown,
    another_region_is_named,
    an_export_arrives_whole_and_once,
    an_export_killed_on_its_way_is_taken_up,
    a_folder_is_a_delta_table_too,
    a_delta_table_of_several_writers_is_refused,
    other_rows_under_the_object_s_name_stay,
    what_was_delivered_is_verified,
    no_secret_is_in_the_database,
]


def said(test, world):
    """What was wrong, or None."""
    try:
        test(world)
        return None
    except Exception:  # whatever it is, the next test runs
        return traceback.format_exc()


checks = Checks()
if not swift.is_installed():
    sys.exit("Swift is missing: install swift-proxy, swift-account, swift-container and swift-object")
with swift.Swift() as server:
    world = World(server)
    for test in TESTS:
        wrong = said(test, world)
        checks.check(test.__name__.replace("_", " "), wrong is None, wrong)
checks.end()
