"""An OpenStack Swift of one machine that speaks S3 and checks signatures, in a folder that goes with it.

Debian's packages swift-proxy, swift-account, swift-container and swift-object; no daemon, no configuration of the
machine is used. Every server listens on the loopback.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

KEY, SECRET, REGION, DOMAIN = "test:tester", "testing", "eu-north-1", "s3.localhost"
SERVERS = ("account", "container", "object")

SERVER = """[DEFAULT]
devices = {folder}/devices
mount_check = false
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
swift_dir = {folder}
user = {user}
disable_fallocate = true
log_address = {folder}/no-log
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""

# No memcached answers at port 9, which Swift takes for one that is down.
PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
swift_dir = {folder}
user = {user}
log_address = {folder}/no-log
[pipeline:main]
pipeline = catch_errors gatekeeper proxy-logging cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:proxy-logging]
use = egg:swift#proxy_logging
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:9
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = {region}
storage_domain = {domain}
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
user_test_guest = {secret}
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:versioned_writes]
use = egg:swift#versioned_writes
"""


def is_installed():
    return all(shutil.which(f"swift-{name}-server") for name in (*SERVERS, "proxy"))


def free_ports(count):
    """Ports that are free now; nobody else on the loopback is expected to take them within a second."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Swift:
    """with Swift() as server: ... server.port"""

    def __enter__(self):
        for last in (False, True):
            try:
                self.start()
                break
            except BaseException as error:
                self.__exit__()
                if last or not isinstance(error, RuntimeError):
                    raise
                print(f"{error}; trying once more, for a port may have been taken meanwhile", flush=True)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemark.swift."))
        self.processes = []
        ports = free_ports(len(SERVERS) + 1)
        values = {"folder": self.folder, "user": "root" if os.getuid() == 0 else os.environ.get("USER", "nobody"),
                  "region": REGION, "domain": DOMAIN, "secret": SECRET}
        (self.folder / "devices/one").mkdir(parents=True)
        (self.folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tidemark\n")
        for name, port in zip(SERVERS, ports):
            (self.folder / f"{name}.conf").write_text(SERVER.format(name=name, port=port, **values))
            self.ring(name, port)
        self.port = ports[-1]
        (self.folder / "proxy.conf").write_text(PROXY.format(port=self.port, **values))
        for name, port in zip((*SERVERS, "proxy"), ports):
            self.launch(name)
        for port in ports:
            self.wait_for(port)

    def ring(self, name, port):
        from swift.common.ring import RingBuilder  # Debian's python3-swift, which is looked for before
        builder = RingBuilder(0, 1, 0)
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "one", "meta": "", "ip": "127.0.0.1",
                         "port": port, "replication_ip": "127.0.0.1", "replication_port": port})
        builder.rebalance()
        builder.get_ring().save(str(self.folder / f"{name}.ring.gz"))

    def launch(self, name):
        log = open(self.folder / f"{name}.log", "wb")
        self.processes.append(subprocess.Popen([f"swift-{name}-server", self.folder / f"{name}.conf", "-v"],
                                               stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        log.close()

    def wait_for(self, port):
        end = time.monotonic() + 180  # a second where nothing else runs
        while time.monotonic() < end:
            if any(process.poll() is not None for process in self.processes):
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        ends = [process.poll() for process in self.processes]
        logs = "\n".join(path.read_text(errors="replace") for path in self.folder.glob("*.log"))
        raise RuntimeError(f"Swift does not start, {ends}: {logs}")
