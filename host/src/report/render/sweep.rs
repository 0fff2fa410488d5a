//! A sweep of faults as a table, with a sentence about its extent.

use crate::plural::counted;
use crate::report::model::{BugReport, SweepReport, SweptSiteReport};

/// What was tried, and whether this is everything.
pub fn summary(sweep: &SweepReport) -> String {
    let SweepReport { opportunities, samples, planned, tried, unfinished, left_out, .. } = sweep;
    let faults = sweep.faults.join(", ");
    if !sweep.baseline_passes {
        return format!(
            "Fault sweep of {faults}: the default schedule does not pass, so no fault was tried."
        );
    }
    let places = match opportunities {
        1 => "1 opportunity".to_string(),
        n => format!("{n} opportunities"),
    };
    if *opportunities == 0 {
        return format!("Fault sweep of {faults}: the default schedule has no opportunity for a fault.");
    }
    let schedules = match samples {
        0 => "with the default schedule after it".into(),
        n => format!("with the default schedule and {n} others after it"),
    };
    let mut text =
        format!("Fault sweep of {faults}: {places}, each way once and from there on, {schedules}; ");
    text += &match sweep.complete {
        true => format!("all {} made.", counted(*planned, "execution")),
        false => format!("{tried} of {} made.", counted(*planned, "execution")),
    };
    if *unfinished > 0 {
        text += &format!(" {} cut off by the bound on steps.", counted(*unfinished, "execution"));
    }
    if *left_out > 0 {
        text += &format!(" {} left out, behind the first 16 of an opportunity.", counted(*left_out, "way"));
    }
    text
}

/// The table for a terminal. Every line ends in a line feed.
pub fn text(sweep: &SweepReport, bugs: &[BugReport]) -> String {
    let mut rows = vec![["opportunities", "tried", "failed", "fault", "at"].map(String::from)];
    for site in &sweep.sites {
        let mut place = site.place.clone();
        let found = bugs_of(site, bugs);
        if !found.is_empty() {
            place += &format!(": {found}");
        }
        let numbers = [site.opportunities.to_string(), tried(site), site.swept.failed.to_string()];
        let [opportunities, tried, failed] = numbers;
        rows.push([opportunities, tried, failed, site.fault.clone(), place]);
    }
    let widths: Vec<usize> =
        (0..4).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let mut text = format!("... {}\n", summary(sweep));
    for [opportunities, tried, failed, fault, place] in rows.iter().filter(|_| !sweep.sites.is_empty()) {
        let (a, b, c, d) = (widths[0], widths[1], widths[2], widths[3]);
        text += &format!("..... {opportunities:>a$}  {tried:>b$}  {failed:>c$}  {fault:d$}  {place}\n");
    }
    text
}

/// The number of faults that were tried at a place, and of how many if not all.
pub fn tried(site: &SweptSiteReport) -> String {
    if site.swept.tried == site.planned {
        return site.planned.to_string();
    }
    format!("{} of {}", site.swept.tried, site.planned)
}

/// The bugs at a place, each by its kind and the name of its trace.
pub fn bugs_of(site: &SweptSiteReport, bugs: &[BugReport]) -> String {
    let name = |identity: &String| {
        let bug = bugs.iter().find(|bug| bug.identity == *identity);
        bug.map_or_else(
            || identity.clone(),
            |bug| {
                format!("{}, {}", bug.kind.name(), bug.trace.rsplit(['/', '\\']).next().unwrap_or_default())
            },
        )
    };
    site.swept.bugs.iter().map(name).collect::<Vec<_>>().join("; ")
}
