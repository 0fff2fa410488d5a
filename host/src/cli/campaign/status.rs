//! How far a campaign is: counted from its files, since nobody keeps count.

#![expect(clippy::disallowed_types, reason = "the ages of results, which no guest sees")]

use super::look::{LATELY, Look, rough};
use super::page::{self, Told};
use super::place::{FILE, Place, Unit, to_remove};
use super::stages::Stage;
use crate::exit::Exit;
use crate::plural::counted;
use crate::trace::replace_file;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Prints the status, once or again and again until the campaign has ended, and writes it as a page if one is asked for.
///
/// # Errors
/// The directory cannot be read.
pub fn run(place: &Place, watch: Option<Duration>, page: Option<&Path>) -> Result<Exit> {
    let mut looks = BTreeMap::new();
    loop {
        let (text, is_over, exit) = status(place, &mut looks, page.is_some())?;
        print!("{text}");
        if let Some(path) = page {
            let again = watch.filter(|_| !is_over).map(|interval| interval.as_secs());
            write_page(path, place, &text, &looks, again)?;
        }
        match watch {
            Some(interval) if !is_over => std::thread::sleep(interval),
            _ => return Ok(exit),
        }
    }
}

/// The status as text; whether the campaign has ended, possibly without units that were given up; and the exit code.
fn status(place: &Place, looks: &mut BTreeMap<Unit, Look>, for_page: bool) -> Result<(String, bool, Exit)> {
    let of_search = place.campaign.unit_steps.is_some();
    let units = place.units()?;
    let (mut held, mut given_up, mut damaged) = (0, Vec::new(), Vec::new());
    looks.retain(|unit, _| place.is_done(*unit));
    for unit in &units {
        match () {
            () if looks.contains_key(unit) => {}
            () if place.is_done(*unit) => match Look::at(&place.result(*unit), of_search, for_page) {
                Ok(look) => drop(looks.insert(*unit, look)),
                Err(error) => damaged.push(to_remove(error)),
            },
            () if place.is_given_up(*unit) => given_up.push(*unit),
            () if place.is_held(*unit) => held += 1,
            () => {}
        }
    }
    let all = units.len() as u64;
    let done = looks.len() as u64;
    let open = all - done - held - (given_up.len() + damaged.len()) as u64;
    let last = if of_search { Some(Stage::last(place)?) } else { None };
    let complete = done == all && last.as_ref().is_none_or(Stage::is_end);
    let stage = match &last {
        Some(stage) if complete => {
            format!("the search has ended after {}; ", counted(stage.number() - 1, "stage"))
        }
        Some(stage) => format!("stage {}; ", stage.number()),
        None => String::new(),
    };
    let mut text = format!(
        ". {}: {stage}{done} of {} done, {held} at work, {open} open\n",
        place.directory.display(),
        counted(all, "unit")
    );
    text += &progress(place, looks, SystemTime::now(), of_search, open + held);
    for unit in &given_up {
        let failures = place.failures(*unit);
        let last = failures.last().map_or("", |last| last);
        text += &format!(
            "... Unit {unit} was given up after {} failures, the last with {last}\n",
            failures.len()
        );
    }
    for damaged in damaged {
        text += &format!("... {damaged}\n");
    }
    let is_over = complete || held + open == 0 && !given_up.is_empty();
    Ok((text, is_over, if complete { Exit::NoBug } else { Exit::Inconclusive }))
}

/// When the campaign was made.
fn begun(place: &Place) -> Option<SystemTime> {
    fs::metadata(place.directory.join(FILE)).and_then(|about| about.modified()).ok()
}

fn write_page(
    path: &Path,
    place: &Place,
    text: &str,
    looks: &BTreeMap<Unit, Look>,
    again: Option<u64>,
) -> Result<()> {
    let now = SystemTime::now();
    let campaign = &place.campaign;
    let told = Told {
        title: &format!("Campaign {}", place.directory.display()),
        command: &format!("coyote-wasm test {} {}", campaign.module, campaign.arguments.join(" ")),
        text,
        of_search: campaign.unit_steps.is_some(),
        begun: begun(place).unwrap_or(now).min(now),
        now,
        again,
    };
    let looks: Vec<&Look> = looks.values().collect();
    let page = page::page(&told, &looks);
    replace_file(path, page.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// How much was executed and found, and what of it lately.
fn progress(
    place: &Place,
    looks: &BTreeMap<Unit, Look>,
    now: SystemTime,
    of_search: bool,
    units_left: u64,
) -> String {
    if looks.is_empty() {
        return String::new();
    }
    let executions: u64 = looks.values().map(|look| look.executions).sum();
    let buggy: u64 = looks.values().map(|look| look.buggy).sum();
    let noun = if of_search { "execution" } else { "iteration" };
    let mut text = format!("... {}", counted(executions, noun));
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default();
    let window = begun(place).map_or(LATELY, |begun| age(begun).min(LATELY)).max(Duration::from_secs(1));
    let lately: Vec<&Look> = looks.values().filter(|look| age(look.written) <= window).collect();
    let of_lately: u64 = lately.iter().map(|look| look.executions).sum();
    if of_lately > 0 && units_left > 0 {
        text += &format!(", lately {:.0} a second", of_lately as f64 / window.as_secs_f64());
        // A search does not know what is left.
        if !of_search {
            let left = window.mul_f64(units_left as f64 / lately.len() as f64);
            text += &format!(", {} left at this rate", rough(left));
        }
    }
    text += &format!("; {buggy} with a bug");
    let mut first = BTreeMap::<&str, SystemTime>::new();
    for look in looks.values() {
        for bug in look.bugs.keys() {
            let known = first.entry(bug).or_insert(look.written);
            *known = look.written.min(*known);
        }
    }
    if let Some(newest) = first.values().max() {
        text += &format!(
            ", {}, the newest since {}",
            counted(first.len() as u64, "different bug"),
            rough(age(*newest))
        );
    }
    text + "\n"
}
