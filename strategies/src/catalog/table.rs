//! The catalog as text.

use super::{Entry, SAMPLERS, SEARCHES};
use crate::sample::portfolio;
use std::fmt::Write;

/// The text of `strategies/README.md`.
pub fn readme() -> String {
    let samplers = markdown(SHARDS, samplers());
    let searches = markdown(JOBS, SEARCHES.iter());
    let parts = [("{samplers}", &*samplers), ("{searches}", &*searches), ("{portfolio}", portfolio::DEFAULT)];
    parts.iter().fold(README.to_string(), |text, (name, part)| text.replace(name, part))
}

/// What [`Entry::shardable`] means for a sampler, whose iterations can be executed anywhere.
const SHARDS: &str = "sharded";

/// What it means for a search, whose work the jobs of a process share.
const JOBS: &str = "several jobs";

fn samplers() -> impl Iterator<Item = &'static Entry> {
    SAMPLERS.iter().map(|s| &s.entry)
}

fn markdown<'a>(shared: &str, entries: impl Iterator<Item = &'a Entry>) -> String {
    let mut table = format!(
        "| name | promise | paper | cost of a decision | fair | {shared} | data choices |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for e in entries {
        let (usage, shardable) = (e.usage(), yes_or_no(e.shardable));
        let row = [e.promise, e.paper, e.cost, e.fair, shardable, e.data].join(" | ");
        let _ = writeln!(table, "| `{usage}` | {row} |");
    }
    table
}

/// A paragraph for each entry, for a terminal.
pub fn listing() -> String {
    let searches = SEARCHES.iter().map(|entry| paragraph(JOBS, entry));
    samplers().map(|entry| paragraph(SHARDS, entry)).chain(searches).collect::<Vec<_>>().join("\n")
}

fn paragraph(shared: &str, e: &Entry) -> String {
    let shardable = yes_or_no(e.shardable);
    let mut text = format!("{}\n    {}\n", e.usage(), e.promise);
    let facts =
        [("paper", e.paper), ("cost", e.cost), ("fair", e.fair), (shared, shardable), ("data", e.data)];
    for (what, fact) in facts {
        if !fact.is_empty() {
            let _ = writeln!(text, "    {what}: {fact}");
        }
    }
    text
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

const README: &str = "\
# Strategies

Algorithms that choose schedules, over plain data: this crate knows no wasm. `cargo doc` has the details;
this page is generated from `src/catalog` (`COYOTE_BLESS=1 cargo test -p coyote-strategies`), and
`coyote-wasm test --strategy list` prints the same.

## Samplers

Each is asked at every choice of an execution (trait `Strategy`). An iteration is a function of the seed
and its number alone, unless the strategy learns; those that learn are sharded by `--island`.

{samplers}
While other workers can run, a pending timeout that may fire does so at one choice in 16, under every sampler alike;
with pct-t, in half of the iterations only when no other worker can run, for as many steps as an execution has.
pct, pct-t, delay, random-depth, surw, urw and portfolios of them scale their choices by a profiling run, the first
iteration of the random walk.

Combinations:

| text | meaning |
|---|---|
| `pct:3@500,then:random` | one strategy for 500 steps, then another, within an iteration |
| `fair-pct:3` | until the bound on unfair steps, then `random`: fair; any name can follow `fair-` |
| `pct:3+chess-fair` | who spins waits for the others (CHESS, PLDI 2008): fair; with any strategy |
| `portfolio:[random,pct:2]` | turns by iteration; each member makes the choices it makes alone |
| `[pct:3@500,then:pos]+chess-fair` | brackets hold together |

The default portfolio is `{portfolio}`. In a program most of whose workers, at least 16, only
continue what one other worker has done, as the tasks of a pipeline do, pct-t:1 and pct-t:2 take the places of pct.
Iterations until the bug is found, with the points that are the default (found by the profiling run counts as found
by the first one):

| test | best single strategy | its mean | portfolio: median | mean |
|---|---|---|---|---|
| bounded_buffer, minimal | urw | 1.1 | 1 | 1.8 |
| send_messages, fifty | pct:1 | 4.1 | 8 | 12.7 |
| sct_account, account | pct:2 | 2.8 | 3 | 3.8 |
| sct_lazy01, lazy01 | pct:3 | 2.0 | 3 | 3.8 |
| sct_deadlock01, deadlock01 | random | 2.7 | 6 | 5.7 |
| sct_reorder, reorder_3 | surw | 7.5 | 12 | 14.6 |
| sct_reorder, reorder_5 | surw | 7.6 | 12 | 18.0 |
| sct_twostage, twostage_2 | pct:2 | 5.5 | 8 | 11.2 |
| sct_stack, stack | surw | 1.3 | 1 | 1.6 |
| sct_bluetooth, bluetooth | pct:3 | 9.1 | 17 | 19.9 |
| sct_token_ring, token_ring | pos | 4.4 | 5 | 6.4 |
| sct_wronglock, wronglock_3 | surw | 2.2 | 3 | 5.2 |
| sct_wsq, wsq | urw | 2.5 | 6 | 9.1 |
| account, overdraft | pos | 3.5 | 5 | 6.4 |
| std_threads, main | pos | 12.4 | 23 | 34.5 |

Seeds 0 to 50 for the portfolio and for pos on std_threads, 0 to 14 (account: 29) for random, pct:1 to pct:3,
pos, surw and urw, of which the best is shown. A test holds the same on the toy machine to a factor of five.

## Searches

Each drives a `System` from state to state (trait `Search`) and knows when there is nothing left.

{searches}";
