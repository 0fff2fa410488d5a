//! Two workers send 50 messages each, and it is a bug if all of the second worker's come first.

use super::sampling::{bugs, profile};
use coyote_strategies::sample::pct::Mutant;
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Pct, RandomWalk, Strategy};

pub const MESSAGES: i8 = 50;

/// The first worker finds all of the other's messages sent when it begins.
pub fn send_messages(yields: bool) -> Program {
    let send = |queue| if yields { vec![Rmw(queue, 1), Yield] } else { vec![Rmw(queue, 1)] };
    let sends = |queue| (0..MESSAGES).flat_map(move |_| send(queue));
    // An assertion that fails if the register is 50, and is skipped else.
    let mut first = vec![Load(1), SkipUnless(MESSAGES, 1), Assert(-1)];
    first.extend(sends(0));
    vec![first, sends(1).collect()]
}

#[test]
fn pct_finds_it_in_half_of_the_iterations() {
    for yields in [false, true] {
        let program = send_messages(yields);
        let found = |mut strategy: Pct| {
            strategy.prepare(&profile(&program, 0));
            bugs(&program, &mut strategy, 1000)
        };
        // The order of two priorities. Binomial(1000, 1/2) has deviation 16: five deviations miss once
        // in 1.7 million.
        let n = found(Pct::new(1));
        assert!((420..580).contains(&n), "{n}");
        // A change point keeps it unless it interrupts the second worker: one in about 50 places is left
        // before and half of the k decisions are after it.
        let n = found(Pct::new(2));
        assert!(n > 150, "{n}");
        if yields {
            assert_eq!(found(Pct::with_mutant(1, Mutant::YieldLowers)), 0);
        }
        assert_eq!(bugs(&program, &mut RandomWalk::default(), 1000), 0);
    }
}
