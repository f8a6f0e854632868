//! Resident memory of a process, as Linux tells it.

use std::time::Duration;

/// Resident bytes now; `None` where the system does not say.
pub fn resident(pid: u32) -> Option<u64> {
    field(pid, "VmRSS:")
}

/// The most that was ever resident.
pub fn peak(pid: u32) -> Option<u64> {
    field(pid, "VmHWM:")
}

fn field(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Resident bytes once they stay the same for half a second.
pub fn settled(pid: u32) -> Option<u64> {
    let mut last = resident(pid)?;
    let mut same = 0;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(50));
        let now = resident(pid)?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
        if same == 10 {
            break;
        }
    }
    Some(last)
}

pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
