//! The memory limit of a search.
//!
//! The remaining work of a search grows with the search; that of a bounding search grows without limit. A search that
//! notices its memory limit in time ends with a result and a frontier; without a limit, the system kills the process,
//! without any result.

use std::path::Path;

/// The resident memory of this process in bytes; `None` if the system does not tell (on other systems than Linux).
pub fn resident_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:").map(|kilobytes| kilobytes << 10)
}

/// The default limit: half of the memory of this machine, or of this process's control group.
pub fn default_bound_bytes() -> u64 {
    let machine = kilobytes("/proc/meminfo", "MemTotal:").map(|kilobytes| kilobytes << 10);
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    [machine, group].into_iter().flatten().min().map_or(u64::MAX, |bytes: u64| bytes / 2)
}

/// The number in the line of a file that begins with this name.
fn kilobytes(file: impl AsRef<Path>, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_some_of_the_memory_of_this_machine() {
        let (before, all) = (resident_bytes().unwrap(), default_bound_bytes());
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let grown = resident_bytes().unwrap() - before;
        // Other tests run at the same time.
        assert!(grown > 32 << 20, "{grown}");
        assert!(block.len() as u64 + before < all, "{all}");
    }
}
