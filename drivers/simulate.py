#!/usr/bin/env python3
"""Simulates campaigns on many cores, from figures that were measured on one machine: python3 drivers/simulate.py

The campaign of a search: all work is one item at first. A unit executes the items of its part until its budget is used up,
and cuts what is left of the last one into pieces of very uneven sizes. A stage ends with its slowest unit; then one process
joins what is left and divides it (host/src/units/search.rs has the budgets). The campaign of a sampler: units of equal
size, which workers take by themselves, and of which some are lost with their machines.

The share of the cores' time that is work is printed, for each number of cores. Nothing is printed that was measured on so
many cores.
"""

import argparse
import heapq
import random


def pieces_of(rng, size, count):
    """An item cut into pieces: their shares are those of a gamma distribution of shape 1/2."""
    shares = [rng.gammavariate(0.5, 1.0) for _ in range(count)]
    total = sum(shares)
    return [size * share / total for share in shares]


def search(rng, cores, options):
    """The time that a search takes, and the number of its stages and units."""
    units = options.units_a_core * cores
    parts, elapsed, stages, executed = [[options.work * cores]], 0.0, 0, 0
    while parts:
        stages, executed = stages + 1, executed + len(parts)
        budget = max(options.unit * len(parts) / units, options.shortest)
        count = 2 * -(-units // len(parts))
        free, left = [0.0] * min(cores, len(parts)), []
        for part in parts:
            rest = budget
            for index, size in enumerate(part):
                if size > rest:
                    left += part[index + 1:]
                    left += pieces_of(rng, size - rest, count)
                    rest = 0
                    break
                rest -= size
            # Workers that share a directory take the next unit.
            heapq.heappush(free, heapq.heappop(free) + options.start + budget - rest)
        elapsed += max(free) + options.join * len(parts) + options.look
        # Each part gets some from everywhere.
        number = min(units, len(left))
        parts = [left[index::number] for index in range(number)]
    return elapsed, stages, executed


def sampler(rng, cores, options):
    """The time that a sampler takes, and the number of units that were executed."""
    waiting, executed = options.sampler_units * cores, 0
    length = options.work / options.sampler_units
    free = [0.0] * cores
    while waiting:
        at = heapq.heappop(free)
        executed, lost = executed + 1, rng.random() < options.lost
        waiting -= not lost
        # A machine that is lost is missed after a while; its unit is executed by another one.
        heapq.heappush(free, at + options.start + (length * rng.random() + options.missed if lost else length))
    return max(free), executed


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    option = lambda name, value, about: parser.add_argument(f"--{name}", type=float, default=value, help=about)
    option("work", 3600, "seconds of work for each core")
    option("unit", 60, "seconds of work in a unit of a search")
    option("shortest", 0.003, "seconds of work in the shortest unit: 10,000 steps")
    option("start", 0.03, "seconds until a unit begins: a process, its module from the cache, its part")
    option("join", 0.03, "seconds to join and divide what one unit has left")
    option("look", 0.2, "seconds until workers find a new stage")
    option("lost", 0.02, "share of units that are lost with their machines")
    option("missed", 30, "seconds until a lost machine is missed")
    parser.add_argument("--units-a-core", type=int, default=4, help="of a stage of a search")
    parser.add_argument("--sampler-units", type=int, default=10, help="units of a sampler for each core")
    parser.add_argument("--cores", type=int, nargs="*", default=[10, 100, 1_000, 10_000], help="numbers of cores")
    options = parser.parse_args()
    print("| cores | search: at work | stages | units | sampler: at work | units |\n|---|---|---|---|---|---|")
    for cores in options.cores:
        rng = random.Random(cores)
        elapsed, stages, units = search(rng, cores, options)
        sampled, executed = sampler(rng, cores, options)
        share = lambda elapsed: f"{100 * options.work / elapsed:.0f} %"
        print(f"| {cores:,} | {share(elapsed)} | {stages} | {units:,} | {share(sampled)} | {executed:,} |")


if __name__ == "__main__":
    main()
