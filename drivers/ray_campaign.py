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

FAILURES_MAX = 3


# A task whose node or process is lost is executed again, however often: Ray does that.
@ray.remote(max_retries=-1)
def execute(shard, name, module, arguments, jobs):
    """The result of one unit, or None; the exit code; what was said."""
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        path, result = directory / name, directory / "result"
        path.write_bytes(module)
        command = ["coyote-wasm", "test", "--shard", shard, "--result", result, "--jobs", str(jobs)]
        command += ["--outdir", directory / "out", path, *arguments]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        # There is a result whatever its verdict; without one, the unit failed.
        return result.read_bytes() if result.exists() else None, ended.returncode, ended.stderr.strip()


def failures(campaign, unit):
    path = campaign / "failed" / str(unit)
    return len(path.read_text().splitlines()) if path.exists() else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("campaign", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1, help="CPUs that a unit takes [default: 1]")
    parser.add_argument("--address", default="auto", help="of the cluster, as for ray.init")
    options = parser.parse_args()

    campaign = options.campaign
    description = json.loads((campaign / "campaign.json").read_text())
    if description["version"] != 1:
        sys.exit(f"{campaign} has another version than this script")
    if "unit_steps" in description:
        parser.error("the campaign is of a search, which needs a directory that all machines share: see docs/scale.md")
    name, arguments, units = description["module"], description["arguments"], description["units"]
    result = lambda unit: campaign / "results" / f"{unit}.result"
    is_open = lambda unit: not result(unit).exists() and failures(campaign, unit) < FAILURES_MAX
    waiting = [unit for unit in range(units, 0, -1) if is_open(unit)]

    ray.init(address=options.address, log_to_driver=False)
    module = ray.put((campaign / name).read_bytes())
    running = {}
    while waiting or running:
        # Enough for nodes that join, not more than the driver can hold.
        wanted = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)) // options.jobs)
        while waiting and len(running) < wanted:
            unit = waiting.pop()
            task = execute.options(num_cpus=options.jobs)
            running[task.remote(f"{unit}/{units}", name, module, arguments, options.jobs)] = unit
        ended, _ = ray.wait(list(running), timeout=5)
        for task in ended:
            unit = running.pop(task)
            content, code, said = ray.get(task)
            if content is not None:
                # Whole or not at all, as `campaign work` does it.
                aside = result(unit).with_suffix(f".{os.getpid()}")
                aside.write_bytes(content)
                aside.replace(result(unit))
            elif code == 1:
                print(f"unit {unit}: {said}", file=sys.stderr)
                return 1
            else:
                said = said.splitlines()[-1] if said else ""
                with open(campaign / "failed" / str(unit), "a") as file:
                    print(f"exit code {code}: {said}", file=file)
                if is_open(unit):
                    waiting.append(unit)
    return 0 if all(result(unit).exists() for unit in range(1, units + 1)) else 3


if __name__ == "__main__":
    sys.exit(main())
