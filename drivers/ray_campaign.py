#!/usr/bin/env python3
"""Executes the open units of a campaign on a Ray cluster, whose nodes share no directory with this process:

    python3 drivers/ray_campaign.py CAMPAIGN [--jobs N]
    coyote-wasm campaign report CAMPAIGN

The module and the results travel by Ray; `coyote-wasm` must be on the PATH of each node. Whatever dies, nodes or this
process, the same command again executes the units that have no result.

Exit codes are those of `coyote-wasm campaign work`: 0 if every unit has a result, 1 for bad input, 3 if a unit failed
three times and was given up.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import ray

FOLDERS = ["failed", "results", "units"]


# A task whose node or process is lost is executed again, however often: Ray does that.
@ray.remote(max_retries=-1)
def execute(unit, module, files, jobs):
    """What executing one unit has written, by paths in the campaign; the exit code; what was said."""
    with tempfile.TemporaryDirectory() as directory:
        # A campaign with this unit alone.
        place = pathlib.Path(directory)
        for folder in FOLDERS:
            (place / folder).mkdir()
        name = json.loads(files["campaign.json"])["module"]
        for path, content in {**files, name: module}.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(content)
        command = ["coyote-wasm", "campaign", "work", place, "--unit", unit, "--jobs", str(jobs)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        written = [path for folder in ["failed", "results"] for path in sorted((place / folder).iterdir())]
        # A result comes after what its unit has left.
        written.sort(key=lambda path: path.suffix == ".result")
        files = {str(path.relative_to(place)): path.read_bytes() for path in written}
        return files, ended.returncode, ended.stderr.strip()


def needs(campaign, unit):
    """The files of a campaign that a unit needs, but for the module."""
    paths = [campaign / "campaign.json"]
    if "-" in unit:
        stage, number = unit.split("-")
        names = ["parts", "visited.frontier", f"{number}.frontier"]
        paths += [campaign / "stages" / stage / name for name in names]
    return {str(path.relative_to(campaign)): path.read_bytes() for path in paths if path.exists()}


def keep(campaign, files):
    for name, content in files.items():
        path = campaign / name
        if name.startswith("failed/"):
            with open(path, "ab") as file:
                file.write(content)
        else:
            # Whole or not at all, as `campaign work` does it.
            aside = path.with_name(f"{path.name}.{os.getpid()}")
            aside.write_bytes(content)
            aside.replace(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("campaign", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1, help="CPUs that a unit takes [default: 1]")
    parser.add_argument("--address", default="auto", help="of the cluster, as for ray.init")
    options = parser.parse_args()

    campaign = options.campaign

    def tool(command):
        return subprocess.run(["coyote-wasm", "campaign", command, campaign], stdout=subprocess.PIPE, text=True)

    def plan():
        planned = tool("plan")
        return planned.stdout.split()[::-1] if planned.returncode == 0 else sys.exit(planned.returncode)

    waiting = plan()
    ray.init(address=options.address, log_to_driver=False)
    name = json.loads((campaign / "campaign.json").read_text())["module"]
    module = ray.put((campaign / name).read_bytes())
    running = {}
    while waiting or running:
        # Enough for nodes that join, not more than the driver can hold.
        wanted = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)) // options.jobs)
        while waiting and len(running) < wanted:
            unit = waiting.pop()
            task = execute.options(num_cpus=options.jobs)
            running[task.remote(unit, module, needs(campaign, unit), options.jobs)] = unit
        ended, _ = ray.wait(list(running), timeout=5)
        for task in ended:
            unit = running.pop(task)
            files, code, said = ray.get(task)
            keep(campaign, files)
            if code == 1:
                print(f"unit {unit}: {said}", file=sys.stderr)
                return 1
            if code == 75:
                waiting.append(unit)
        if not waiting and not running:
            # The next stage of a search.
            waiting = plan()
    return 0 if tool("status").returncode == 0 else 3


if __name__ == "__main__":
    sys.exit(main())
