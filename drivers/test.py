#!/usr/bin/env python3
"""Tests of the drivers: python3 drivers/test.py [--no-skips] [ENGINE]...

Each engine executes two small campaigns, one without a bug and one with, while workers, nodes or the driver itself are
killed; those whose machines share a directory also execute one of a search. The report must be that of a single run, byte
for byte but for times, traces included, with the same exit code; of a search also but for the steps on the way to parts.
An engine that is not installed is skipped and named; with --no-skips that is a failure.

`coyote-wasm` is taken from the PATH. As root, all of it happens in a network namespace that has loopback alone. Files are
in temporary directories; only processes that were started here are ended. What engines need: parallel: GNU parallel, rsync,
sshd; slurm: slurmctld, slurmd, munge, root; ray: the Python package ray, root; kubernetes: kubernetes-validate; github:
check-jsonschema (and with it a reader of YAML).
"""

import contextlib
import difflib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples/wasm"
PLAIN = ["--no-shrink", "--no-experiments", "--format", "json"]
UNITS = 24
CORES = 2
# The most that any wait may take.
PATIENCE_S = 120


class Run:
    """A run that is small, and how it ends on one machine."""

    def __init__(self, name, module, options, code):
        self.name, self.module, self.options, self.code = name, EXAMPLES / module, options, code


CLEAN = Run("clean", "counts.wasm", ["--test", "philosophers_3", "-i", "1200000"], 0)
BUGGY = Run("buggy", "bounded_buffer.wasm", ["--test", "random_config", "-i", "12000", "--explore"], 2)


SEARCH = Run("search", "account.wasm", ["--test", "overdraft_fixed", "-s", "dpor"], 0)
# Its units also need what earlier stages have visited.
STATES = Run("states", "account.wasm", ["--test", "overdraft_fixed", "-s", "stateful"], 0)
# The steps of a unit of each search.
UNIT_STEPS = {SEARCH: 150_000, STATES: 50_000}


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Failed(what)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed")


def of_python(name):
    """A program that a Python package installs, beside this Python or on the PATH."""
    beside = pathlib.Path(sys.executable).parent / name
    program = beside if beside.exists() else shutil.which(name)
    if not program:
        raise Skipped(f"{name} is not installed: pip install {name}")
    return program


# Processes.


def start(command, cwd, log, **more):
    """A process in a group of its own, which says things into a file."""
    with open(log, "ab") as file:
        return subprocess.Popen(
            [str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True, **more)


def output(command, cwd, code=0, **more):
    ended = subprocess.run(
        [str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE_S, **more)
    demand(code is None or ended.returncode == code,
           f"{command} ended with {ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def until(condition, what, driver=None):
    """Waits for a condition, as long as its driver has not failed."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        demand(driver is None or not driver.poll(), f"{what}: the driver failed")
        demand(time.monotonic() < end, f"{what}: not after {PATIENCE_S} s")
        time.sleep(0.05)


def ends(process, what):
    until(lambda: process.poll() is not None, what)
    return process.returncode


def processes():
    """Parent and command line of each process."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            found[int(entry.name)] = (parent, (entry / "cmdline").read_text().rstrip("\0").split("\0"))
    return found


def below(root):
    """A process and all that came of it."""
    table, tree = processes(), [root]
    for pid in tree:
        tree += [child for child, (parent, _) in table.items() if parent == pid]
    return tree


def above(pid, root):
    """Ancestors of a process below a root."""
    table, line = processes(), []
    while (pid := table[pid][0]) not in (root, 0):
        line.append(pid)
    return line


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stopped(find, result):
    """One of the processes that are found, which was stopped before its unit had a result."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for pid in find():
            with contextlib.suppress(OSError, ValueError, LookupError):
                words = processes()[pid][1]
                unit = pathlib.Path(words[words.index("--result") + 1]).stem
                if "--shard" in words:
                    unit = words[words.index("--shard") + 1].split("/")[0]
                os.kill(pid, signal.SIGSTOP)
                if not result(unit).exists() and processes()[pid][1] == words:
                    return pid
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    raise Failed(f"no unit was at work for {PATIENCE_S} s")


def units_running(directory):
    """Processes that execute units below a directory."""
    found = []
    for pid, (_, words) in processes().items():
        is_unit = "--shard" in words or "--part" in words
        if is_unit and pathlib.Path(words[0]).name == "coyote-wasm":
            with contextlib.suppress(OSError):
                place = os.readlink(f"/proc/{pid}/cwd") + " " + " ".join(words)
                if str(directory) in place:
                    found.append(pid)
    return found


def is_on_loopback_alone():
    return [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line] == ["lo"]


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


# Campaigns, and what is demanded of them.


def results(directory):
    return len(list(directory.glob("*.result")))


def new(place, run):
    """A campaign in the directory `c` of a place."""
    place.mkdir()
    shutil.copy(run.module, place)
    steps = ["--unit-steps", UNIT_STEPS[run]] if run in UNIT_STEPS else []
    output(["coyote-wasm", "campaign", "new", "c", "--units", UNITS, *steps, run.module.name, *run.options], place)
    return place / "c"


def told(place, command, code):
    """The report that a command prints as JSON, and the files beside it, without times and places."""
    text = output([*command, *PLAIN], place, code)
    plain = lambda text: re.sub(r"\b(c|results)/(\w+\.wasm)", r"\2", text.replace(str(place), "."))
    # A search says how many steps its executions have on average.
    plainer = lambda line: re.sub(r"[0-9.]+ steps on average", "so many steps", line)
    varying = re.compile('"elapsed_seconds"' + ("|\"steps\"|\"redundant\"" if re.search("dpor|stateful", text) else ""))
    lines = [plainer(line) for line in plain(text).splitlines() if not varying.search(line)]
    files = {}
    for path in sorted((place / "coyote-output").glob("*")):
        files[path.name] = plain(path.read_text())
    return "\n".join(lines), files


SINGLE = {}


def single(run):
    if run.name not in SINGLE:
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            shutil.copy(run.module, place)
            command = ["coyote-wasm", "test", run.module.name, *run.options, "--seed", "0"]
            command += ["--timeout", PATIENCE_S] if run in UNIT_STEPS else []
            SINGLE[run.name] = told(place, command, run.code)
    return SINGLE[run.name]


def demand_equal(run, place, command):
    report, files = told(place, command, run.code)
    expected, files_expected = single(run)
    lines = [text.splitlines() for text in (expected, report)]
    difference = list(difflib.unified_diff(*lines, "single", "report", n=2, lineterm=""))
    demand(not difference, "another report than that of a single run:\n" + "\n".join(difference[:60]))
    demand(files == files_expected, f"other files: {sorted(files_expected)}, {sorted(files)}")


def demand_report(run, place):
    output(["coyote-wasm", "campaign", "status", "c"], place)
    demand_equal(run, place, ["coyote-wasm", "campaign", "report", "c"])


def local(place):
    # A worker and the process of its unit are killed; then all are interrupted, and killed.
    for run in [CLEAN, BUGGY, SEARCH]:
        campaign = new(place / run.name, run)
        command = [HERE / "local.sh", "c", "3"]
        driver = start(command, campaign.parent, place / "log")
        until(lambda: results(campaign / "results") >= 4, "the first units", driver)
        if run is not BUGGY:
            unit = stopped(lambda: units_running(campaign.parent), lambda unit: campaign / f"results/{unit}.result")
            kill([processes()[unit][0], unit])
            demand(ends(driver, "local.sh") == run.code, "local.sh has another exit code than a single run")
        else:
            os.kill(driver.pid, signal.SIGINT)
            demand(ends(driver, "local.sh") == 75, "local.sh was interrupted and has another exit code than 75")
            driver = start(command, campaign.parent, place / "log")
            done = results(campaign / "results")
            until(lambda: results(campaign / "results") > done, "more units", driver)
            kill(below(driver.pid))
            driver.wait()
            demand(results(campaign / "results") < UNITS, "the campaign that was killed was over")
        demand_equal(run, campaign.parent, command)
        demand_report(run, campaign.parent)
    return "2 workers and 1 driver with all workers killed, 1 driver interrupted"


def parallel(place):
    need("parallel", "rsync", "sshd", "ssh-keygen")
    port, keys = free_port(), place / "keys"
    keys.mkdir(mode=0o700)
    for name in ["host", "user"]:
        output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], place)
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    (place / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nHostKey {keys}/host\nPidFile none\n"
        f"AuthorizedKeysFile {keys}/user.pub\nStrictModes no\nUsePAM no\nMaxStartups 50\n"
        f"SetEnv PATH={os.environ['PATH']} COYOTE_CACHE_DIR={os.environ['COYOTE_CACHE_DIR']}\n")
    sshd = start([shutil.which("sshd"), "-D", "-e", "-f", place / "sshd_config"], place, place / "sshd.log")
    try:
        ssh = (f"ssh -p {port} -i {keys}/user -o UserKnownHostsFile={keys}/known -o StrictHostKeyChecking=no "
               f"-o LogLevel=ERROR {os.environ.get('USER', 'root')}@")
        logins = f"1/{ssh}127.0.0.1,1/{ssh}127.0.0.2"
        # The session of a host is lost; then parallel itself is.
        for run in [CLEAN, BUGGY]:
            there = place / run.name
            there.mkdir()
            command = [HERE / "parallel.sh", logins, UNITS, "results", run.module, *run.options]
            driver = start(command, there, place / "log")
            remote = lambda: [pid for pid in below(sshd.pid) if "--shard" in processes().get(pid, (0, []))[1]]
            until(lambda: results(there / "results") >= 3, "the first units", driver)
            if run is CLEAN:
                unit = stopped(remote, lambda unit: there / f"results/{unit}.result")
                kill([*above(unit, sshd.pid), unit])
                code = ends(driver, "parallel")
                log = [line.split("\t") for line in (there / "results/parallel.log").read_text().splitlines()[1:]]
                demand(code == 0 and len(log) == UNITS, f"parallel ended with {code} after {len(log)} units")
            else:
                kill(below(driver.pid))
                driver.wait()
                demand(results(there / "results") < UNITS, "the run that was killed was over")
                output(command, there)
            shutil.copy(run.module, there)
            demand_equal(run, there, ["coyote-wasm", "merge", "results"])
    finally:
        kill(below(sshd.pid))
    return "1 unit with its ssh session and 1 driver killed"


SLURM = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={place}/munge.socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
SlurmdTimeout=5
KillWait=2
ReturnToService=2
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def slurm(place):
    need("slurmctld", "slurmd", "sbatch", "munged", "mungekey")
    if os.geteuid() != 0:
        raise Skipped("slurmd is started as root")
    for name in ["state", "spool-n1", "spool-n2"]:
        (place / name).mkdir()
    host = socket.gethostname().split(".")[0]
    config = place / "slurm.conf"
    config.write_text(SLURM.format(host=host, place=place, ports=[free_port() for _ in range(3)]))
    environment = {**os.environ, "SLURM_CONF": str(config)}
    output(["mungekey", "--create", f"--keyfile={place}/munge.key"], place)
    daemons = {}

    def workers(name):
        """Workers on a node."""
        found = []
        for pid, (_, words) in processes().items():
            with contextlib.suppress(OSError):
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                ours = f"SLURMD_NODENAME={name}".encode() in variables and words[1:3] == ["campaign", "work"]
                found += [pid] if ours and f"SLURM_CONF={config}".encode() in variables else []
        return found

    # What a user edits.
    shutil.copytree(HERE / "slurm", place / "slurm")
    work = (place / "slurm/work.sbatch").read_text()
    for old, edited in [("array=1-16", "array=1-2"), ("cpus-per-task=4", "cpus-per-task=1"), ("mem=4G", "mem=0")]:
        demand(old in work, f"no {old} in work.sbatch")
        work = work.replace(old, edited)
    (place / "slurm/work.sbatch").write_text(work)
    try:
        daemons["munged"] = start(
            ["munged", "--foreground", "--force", f"--socket={place}/munge.socket", f"--key-file={place}/munge.key",
             f"--pid-file={place}/munge.pid", f"--seed-file={place}/munge.seed", f"--log-file={place}/munge.log"],
            place, place / "munged.log")
        until((place / "munge.socket").exists, "munge")
        daemons["slurmctld"] = start(["slurmctld", "-D", "-f", config], place, place / "ctld.log", env=environment)
        node = lambda name: start(
            ["slurmd", "-D", "-N", name, "-f", config], place, place / f"{name}.log", env=environment)
        daemons["n1"], daemons["n2"] = node("n1"), node("n2")
        ask = lambda *command: output(command, place, None, env=environment)
        until(lambda: ask("sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"], "two idle nodes", daemons["n2"])

        rounds = {}
        # A node is lost with all that runs there; then both tasks of a round are interrupted.
        for run in [CLEAN, BUGGY, SEARCH]:
            campaign = new(place / run.name, run)
            output([place / "slurm/round.sh", "c"], campaign.parent, env=environment)
            until(lambda: results(campaign / "results") >= 4 and workers("n1") and workers("n2"), "the first units")
            if run is not BUGGY:
                worker = workers("n2")[0]
                step = processes()[worker][0]
                kill([daemons["n2"].pid, step, *below(worker)])
                until(lambda: "down" in ask("sinfo", "-h", "-n", "n2", "-o", "%T"), "the loss of the node")
            else:
                tasks = ask("squeue", "-h", "-r", "-n", "coyote", "-t", "running", "-o", "%A %F_%K").splitlines()
                demand(len(tasks) == 2, f"two tasks do not run: {tasks}")
                demand(results(campaign / "results") < UNITS, "the round that was interrupted was over")
                for task in tasks:
                    output(["scancel", "--batch", "--signal=INT", task.split()[1]], place, env=environment)
                shown = lambda task: ask("scontrol", "show", "job", task.split()[0])
                until(lambda: all("ExitCode=75:0" in shown(task) for task in tasks), "exit code 75 of the tasks")
            until(lambda: ask("squeue", "-h", "-o", "%i") == "", "the end of all jobs")
            jobs = ask("scontrol", "show", "job", "-o").splitlines()
            mine = [job for job in jobs if "JobName=coyote-round " in job and f"WorkDir={campaign.parent}" in job]
            rounds[run.name] = len(mine)
            demand(f"ExitCode={run.code}:0" in mine[-1], f"the last round ended otherwise: {mine[-1]}")
            demand((campaign / "report.txt").stat().st_size > 0, "no report.txt")
            restarts = [job for job in jobs if "JobName=coyote " in job and "Restarts=1" in job]
            lost = {CLEAN: 1, BUGGY: 1, SEARCH: 2}[run]
            demand(run is BUGGY or len(restarts) == lost, f"{len(restarts)} tasks were started again")
            demand_report(run, campaign.parent)
            if run is not BUGGY:
                daemons["n2"] = node("n2")
                until(lambda: ask("sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"], "two idle nodes again")
    finally:
        # Steps of jobs are nobody's children.
        steps = [pid for name in ["n1", "n2"] for pid in workers(name)]
        kill([processes()[pid][0] for pid in steps] + [pid for step in steps for pid in below(step)])
        kill(pid for name in ["n1", "n2", "slurmctld", "munged"] if name in daemons for pid in below(daemons[name].pid))
    return f"2 times 1 of 2 nodes killed, its task was requeued; 2 tasks interrupted (75); rounds {rounds}"


def ray(place):
    try:
        import ray as package
    except ImportError:
        raise Skipped(f"{sys.executable} has no package ray: pip install ray") from None
    if not is_on_loopback_alone():
        raise Skipped("Ray listens on all interfaces, and there is no network namespace for it: needs root and unshare")
    port = free_port()
    # Ray's own files are named by their sockets, whose paths must be short.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as short:
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_health_check_period_ms": "500"}
        command = [of_python("ray"), "start", "--block", "--num-cpus=1",
                   "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
        nodes = []
        try:
            head = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={short}"]
            nodes.append(start([*command, *head], place, place / "head.log", env=environment))
            until(lambda: "Ray runtime started" in (place / "head.log").read_text(), "Ray's head")
            other = lambda: start([*command, f"--address=127.0.0.1:{port}"], place, place / "node.log", env=environment)
            nodes.append(other())
            until(lambda: "Ray runtime started" in (place / "node.log").read_text(), "Ray's second node")
            script = [sys.executable, HERE / "ray_campaign.py", "c", "--address", f"127.0.0.1:{port}"]
            on_second = lambda: [
                pid for pid in below(nodes[-1].pid)
                if {"--shard", "--part"} & set(processes().get(pid, (0, []))[1])]
            # A node is lost; then the process of a unit alone, and then the driver.
            for run in [CLEAN, BUGGY, SEARCH, STATES]:
                campaign = new(place / run.name, run)
                driver = start(script, campaign.parent, place / "log", env=environment)
                until(lambda: results(campaign / "results") >= 3, "the first units", driver)
                unit = stopped(on_second, lambda unit: campaign / f"results/{unit}.result")
                if run is not BUGGY:
                    kill(below(nodes[-1].pid))
                    nodes.pop().wait()
                    demand(driver.poll() is None, "the campaign was over before its node was killed")
                    demand(ends(driver, "the driver") == 0, f"the driver failed: {(place / 'log').read_text()}")
                    nodes.append(other())
                else:
                    kill([unit])
                    until(lambda: list((campaign / "failed").iterdir()), "a note on the failure")
                    kill(below(driver.pid))
                    driver.wait()
                    demand(results(campaign / "results") < UNITS, "the campaign that was killed was over")
                    output(script, campaign.parent, env=environment)
                demand_report(run, campaign.parent)
        finally:
            kill(pid for node in nodes for pid in below(node.pid))
            kill(pid for pid, (_, words) in processes().items() if short in " ".join(words))
    return f"ray {package.__version__}: 3 times 1 of 2 nodes, 1 unit's process and 1 driver killed"


def yaml(path):
    try:
        import yaml as reader
    except ImportError:
        try:
            from ruamel.yaml import YAML
        except ImportError:
            raise Skipped(f"{sys.executable} has no reader of YAML: pip install pyyaml") from None
        return YAML(typ="safe").load(path)
    return reader.safe_load(path.read_text())


def validated(place, command, path, planted):
    """A file follows its schema, and does not with a planted mistake."""
    program = of_python(command[0])
    output([program, *command[1:], path], place)
    wrong = place / path.name
    text = path.read_text()
    demand(text.count(planted[0]) == 1, f"{planted[0]} in {path}")
    wrong.write_text(text.replace(*planted))
    demand(subprocess.run([program, *command[1:], wrong], capture_output=True).returncode != 0,
           f"{path} with a mistake follows its schema")


def kubernetes(place):
    """Without a cluster: the schema, and the command of the worker, repeated as the policy says."""
    mistakes = {"desk.yaml": ("workingDir:", "workDir:"), "work.yaml": ("podFailurePolicy:", "podFailurePolicies:")}
    for name, planted in mistakes.items():
        validated(place, ["kubernetes-validate", "--strict"], HERE / "kubernetes" / name, planted)
    job = yaml(HERE / "kubernetes/work.yaml")["spec"]
    container = job["template"]["spec"]["containers"][0]

    def action(code):
        for rule in job["podFailurePolicy"]["rules"]:
            codes = rule.get("onExitCodes")
            if codes and code in codes["values"]:
                demand(codes["operator"] == "In" and codes["containerName"] == container["name"], str(rule))
                return rule["action"]
        return "Count"

    actions = {code: action(code) for code in [1, 3, 75, 137, 143]}
    expected = {1: "FailJob", 3: "FailJob", 75: "Ignore", 137: "Count", 143: "Ignore"}
    demand(actions == expected, f"exit codes have other actions: {actions}")
    killed = {}
    for run in [CLEAN, BUGGY]:
        campaign = new(place / run.name, run)
        command = ["c" if word.startswith("/campaigns/") else word for word in container["command"]]
        command[command.index("--jobs") + 1] = "1"
        pod = lambda: start(command, campaign.parent, place / "log")
        # Two workers of as many indexes; one of them is killed as for want of memory, or interrupted.
        how = signal.SIGKILL if run is CLEAN else signal.SIGTERM
        pods, failures = {0: pod(), 1: pod()}, 0
        until(lambda: results(campaign / "results") >= 4, "the first units")
        os.killpg(pods[0].pid, how)
        while pods:
            for index, process in list(pods.items()):
                if process.poll() is None:
                    continue
                code = process.returncode if process.returncode >= 0 else 128 - process.returncode
                del pods[index]
                if code == 0:
                    continue
                killed[code] = action(code)
                demand(killed[code] != "FailJob", f"the job failed by exit code {code}")
                failures += killed[code] == "Count"
                demand(failures <= job["backoffLimitPerIndex"], "too many failures of an index")
                pods[index] = pod()
            time.sleep(0.05)
        demand_report(run, campaign.parent)
    # Bad input ends the job.
    (campaign / "campaign.json").write_text("{}")
    demand(action(ends(pod(), "a worker")) == "FailJob", "bad input does not end the job")
    return f"manifests valid; NO CLUSTER: the worker's command executed here, exit codes killed {killed}"


def github(place):
    """Without GitHub: the schema, and the steps of the workflow that are commands."""
    validated(place, ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"], HERE / "github.yml",
              ("runs-on: ubuntu-24.04\n    outputs", "run-on: ubuntu-24.04\n    outputs"))
    workflow = yaml(HERE / "github.yml")
    step = lambda job, name: next(s for s in workflow["jobs"][job]["steps"] if s.get("name") == name)

    def commands(job, name, replaced, **variables):
        text = step(job, name)["run"].replace(*replaced)
        demand("${{" not in text, f"an expression in a command: {text}")
        environment = {**os.environ, **{k: str(v) for k, v in workflow["env"].items()}, **variables}
        return ["bash", "-e", "-c", text], environment

    for run in [CLEAN, BUGGY]:
        there = place / run.name
        there.mkdir()
        shutil.copy(run.module, there)
        variables = {"MODULE": str(run.module), "UNITS": str(UNITS), "OPTIONS": " ".join(run.options)}
        variables["GITHUB_OUTPUT"] = str(there / "output")
        command, environment = commands("module", "Units", ("", ""), **variables)
        output(command, there, env=environment)
        units = json.loads((there / "output").read_text().strip().removeprefix("units="))
        demand(units == list(range(1, UNITS + 1)), f"units {units}")
        (there / "results").mkdir()

        def execute(unit, killed=False):
            directory = there / f"machine-{unit}"
            directory.mkdir(exist_ok=True)
            shutil.copy(run.module, directory)
            command, environment = commands("unit", "Test", ("", ""), **variables, UNIT=str(unit))
            process = start(command, directory, place / "log", env=environment)
            if killed:
                until(lambda: units_running(directory), "a unit")
                os.killpg(process.pid, signal.SIGKILL)
            code = ends(process, f"unit {unit}")
            demand((code != 0) == killed, f"unit {unit} ended with {code}")
            for result in directory.glob("*.result"):
                shutil.copy(result, there / "results")

        for unit in units:
            execute(unit, killed=unit == 5)
        command, environment = commands("report", "Report", ("--format github", "--format terse"), **variables)
        output(command, there, 6 if run is CLEAN else 2, env=environment)
        # A person has the jobs that failed executed again.
        execute(5)
        command, _ = commands("report", "Report", ("--format github", '"$@"'), **variables)
        shutil.rmtree(there / "coyote-output", ignore_errors=True)
        demand_equal(run, there, ["env", f"MODULE={run.module}", *command, "report"])
    return "workflow valid; NO GITHUB: its commands executed here, 1 unit killed and executed again, twice"


ENGINES = {e.__name__: e for e in [local, parallel, slurm, ray, kubernetes, github]}


def comparison_can_fail(place):
    """A result that is missing is another report."""
    campaign = new(place / "fail", CLEAN)
    output(["coyote-wasm", "campaign", "work", "c", "--units-max", UNITS - 1, "-j", CORES], place / "fail")
    output(["coyote-wasm", "campaign", "status", "c"], place / "fail", 6)
    output(["coyote-wasm", "campaign", "report", "c"], place / "fail", 6)
    demand(results(campaign / "results") == UNITS - 1, "not all units but one")


def main():
    # A shell lets what it starts in the background ignore SIGINT, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    names = sys.argv[1:]
    no_skips = "--no-skips" in names
    names = [name for name in names if name != "--no-skips"] or list(ENGINES)
    for name in names:
        if name not in ENGINES:
            sys.exit(f"there is no engine {name}; there is {', '.join(ENGINES)}")
    if not shutil.which("coyote-wasm"):
        sys.exit("coyote-wasm is not on the PATH")
    # Of a machine that has 127.0.0.1 alone, libc says that it has no IPv4, and Slurm gives up.
    alone = 'ip link set lo up && ip address add 127.0.0.2/8 dev lo && hostname localhost && exec "$@"'
    apart = ["unshare", "--net", "--uts", "sh", "-c", alone, "sh"]
    if os.geteuid() == 0 and shutil.which("unshare") and not is_on_loopback_alone():
        if subprocess.run([*apart, "true"], capture_output=True).returncode == 0:
            os.execvp(apart[0], [*apart, sys.executable, *sys.argv])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="coyote-drivers-") as base:
        base = pathlib.Path(base)
        os.environ.setdefault("COYOTE_CACHE_DIR", str(base / "cache"))
        comparison_can_fail(base)
        for name in names:
            place = base / name
            place.mkdir()
            begin = time.monotonic()
            try:
                what = ENGINES[name](place)
                outcome = "passed"
            except Skipped as why:
                what, outcome = f"SKIPPED: {why}", "skipped"
            except Failed as why:
                what, outcome = f"FAILED: {why}", "failed"
                for log in sorted(place.glob("*log")):
                    what += f"\n--- {log.name}\n{log.read_text(errors='replace')[-1200:]}"
            counts[outcome] += 1
            print(f"{name}: {what} ({time.monotonic() - begin:.0f} s, {UNITS} units each)", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if counts["failed"] or no_skips and counts["skipped"] else 0)


if __name__ == "__main__":
    main()
