//! The files that a program may see and change, enforced by the kernel: Landlock, where it has it.
//!
//! Owns how the lists become rules: a place that holds something nobody may see is opened entry by entry around it. What is on the
//! lists is `domain::policy::confinement`'s. A program cannot take the rules off, and whatever it starts has them too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, path_beneath_rules,
};

use crate::domain::policy::confinement::Confinement;

/// What the rules are about, where the kernel knows all of it.
const WANTED: ABI = ABI::V5;
/// Before this a program could move no file from one folder to another, and many could not work.
const LEAST: ABI = ABI::V2;

/// Entries of one folder that are opened one by one: a home has some hundreds. What is behind them is not seen.
const ENTRIES: usize = 4_096;

/// Whether this kernel can confine programs.
pub(crate) fn can_confine() -> bool {
    let all = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST));
    all.and_then(Ruleset::create).is_ok()
}

/// The rules, to be put on a program that is about to start; `None`: this kernel has none.
///
/// # Errors
///
/// The system refuses to make them.
pub(super) fn rules(confinement: &Confinement) -> io::Result<Option<RulesetCreated>> {
    if !can_confine() {
        return Ok(None);
    }
    let roots: Vec<PathBuf> = confinement.roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    // What was opened on purpose is seen, though it lies where else nothing is.
    let opened = |place: &PathBuf| roots.iter().any(|root| root.starts_with(place));
    let never: Vec<PathBuf> = confinement
        .never
        .iter()
        .filter_map(|place| place.canonicalize().ok())
        .filter(|place| !opened(place))
        .collect();
    let all = AccessFs::from_all(WANTED);
    let read = AccessFs::from_read(WANTED);
    let device = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::IoctlDev;
    let lists: [(&[PathBuf], BitFlags<AccessFs>); 4] = [
        (&roots, all),
        (&confinement.writes, all),
        (&confinement.devices, device),
        (&confinement.reads, read),
    ];
    let made = || -> Result<RulesetCreated, landlock::RulesetError> {
        let mut rules = Ruleset::default().handle_access(all)?.create()?;
        for (places, access) in lists {
            let mut around = Vec::new();
            places.iter().for_each(|place| open_around(place, &never, &mut around));
            rules = rules.add_rules(path_beneath_rules(around, access))?;
        }
        Ok(rules)
    };
    made().map(Some).map_err(io::Error::other)
}

/// A place, or, where something lies in it that nobody may see, its entries around that. Links are not followed there: they may lead
/// to it.
fn open_around(place: &Path, never: &[PathBuf], open: &mut Vec<PathBuf>) {
    let Ok(place) = place.canonicalize() else { return };
    if never.iter().any(|hidden| place.starts_with(hidden)) {
        return;
    }
    if !never.iter().any(|hidden| hidden.starts_with(&place)) {
        return open.push(place);
    }
    for entry in fs::read_dir(&place).into_iter().flatten().flatten().take(ENTRIES) {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open_around(&entry.path(), never, open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_may_see_is_left_out_of_what_is_opened_and_a_link_to_it_is_too() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for folder in [".ssh", "tool/bin", "tool/secret", "work"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("keys")).unwrap();
        let never = [home.join(".ssh"), home.join("tool/secret")];
        let opened = |place: &str| {
            let mut open = Vec::new();
            open_around(&home.join(place), &never, &mut open);
            open.sort();
            open
        };
        assert_eq!(opened("work"), [home.join("work")]);
        assert_eq!(opened(""), [home.join("tool/bin"), home.join("work")]);
        assert_eq!(opened("keys"), Vec::<PathBuf>::new());
        assert_eq!(opened("tool/secret"), Vec::<PathBuf>::new());
        assert_eq!(opened("nothing"), Vec::<PathBuf>::new());
    }
}
