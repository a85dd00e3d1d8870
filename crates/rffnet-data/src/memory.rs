//! How much memory a table may take.

use rffnet::text::count;

use crate::error::DataError;

/// The limit that holds unless one is given: 80 % of what is available; `None` where that is not known.
pub(crate) fn default_limit() -> Option<u64> {
    available().map(|bytes| bytes / 5 * 4)
}

/// The memory that this process can still have.
#[cfg(target_os = "linux")]
fn available() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text));
    machine.into_iter().chain(cgroup()).min()
}

#[cfg(not(target_os = "linux"))]
fn available() -> Option<u64> {
    None
}

#[cfg(any(target_os = "linux", test))]
fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control group of a container leaves, in version 2 or 1. "max" and the huge number that version 1 has
/// for it are no limits.
#[cfg(target_os = "linux")]
fn cgroup() -> Option<u64> {
    const FILES: [[&str; 3]; 2] = [
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"],
        [
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
            "/sys/fs/cgroup/memory/memory.stat",
        ],
    ];
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    FILES.iter().find_map(|[limit, used, statistics]| {
        // Pages of files that were read count as used, and are given back as soon as they are needed.
        let cached = read(statistics).and_then(|text| inactive_file(&text)).unwrap_or(0);
        let used = number(used).unwrap_or(0).saturating_sub(cached);
        Some(number(limit)?.saturating_sub(used))
    })
}

#[cfg(any(target_os = "linux", test))]
fn inactive_file(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok())
}

/// The sentence for a table that is too large: `rows` and `bytes` so far, or expected.
pub(crate) fn too_large(source: &str, rows: usize, columns: usize, bytes: u64, limit: u64) -> DataError {
    let mega = |bytes: u64| count(bytes.div_ceil(1_000_000));
    DataError::format(format!(
        "{source}: {} rows x {} columns take {} MB, more than the {} MB that may be used; read fewer rows or columns \
         (--ignore), or raise the limit",
        count(rows),
        count(columns),
        mega(bytes),
        mega(limit)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory() {
        assert_eq!(meminfo("MemTotal: 10 kB\nMemAvailable:    2000 kB\n"), Some(2_048_000));
        assert_eq!(meminfo("MemAvailable: many\n"), None);
        assert_eq!(meminfo(""), None);
        assert_eq!(inactive_file("anon 5\ninactive_file 4096\nactive_file 7\n"), Some(4096));
        assert!(default_limit().is_none_or(|limit| limit > 0));
    }
}
