//! The table of tools: what they do, told by their arguments.

mod archives;
mod build;
mod cloud;
mod code;
mod containers;
mod databases;
mod disks;
mod files;
mod git;
mod languages;
mod machines;
mod network;
mod packages;
mod system;
mod text;
mod vcs;

use super::row::Tool;
use crate::names::hash;

/// The rows, by field.
static FIELDS: [&[Tool]; 16] = [
    files::ROWS,
    text::ROWS,
    archives::ROWS,
    git::ROWS,
    packages::ROWS,
    containers::ROWS,
    cloud::ROWS,
    system::ROWS,
    disks::ROWS,
    network::ROWS,
    databases::ROWS,
    build::ROWS,
    code::ROWS,
    vcs::ROWS,
    machines::ROWS,
    languages::ROWS,
];

/// A power of two that leaves most slots empty.
const SLOTS: usize = 4096;

/// For the hash of each name, the field and the row, plus one; zero where there is none.
static INDEX: [u16; SLOTS] = index();

/// Lays out the index when it is compiled, and fails then if a name stands for two rows.
#[expect(clippy::indexing_slicing, reason = "runs when it is compiled, never later")]
#[expect(clippy::cast_possible_truncation, reason = "fields and rows are few")]
const fn index() -> [u16; SLOTS] {
    let mut slots = [0_u16; SLOTS];
    let mut field = 0;
    while field < FIELDS.len() {
        let rows = FIELDS[field];
        assert!(rows.len() < 256, "a field has too many rows");
        let mut row = 0;
        while row < rows.len() {
            let mut name = 0;
            while name < rows[row].names.len() {
                let text = rows[row].names[name].as_bytes();
                let mut slot = hash(text) % SLOTS;
                while slots[slot] != 0 {
                    let (other_field, other_row) = unpack(slots[slot]);
                    let other = &FIELDS[other_field][other_row];
                    let mut index = 0;
                    while index < other.names.len() {
                        let same = field == other_field && row == other_row && index == name;
                        assert!(
                            same || !equal(other.names[index].as_bytes(), text),
                            "a name is in the table twice"
                        );
                        index += 1;
                    }
                    slot = (slot + 1) % SLOTS;
                }
                slots[slot] = ((field as u16) << 8 | row as u16) + 1;
                name += 1;
            }
            row += 1;
        }
        field += 1;
    }
    slots
}

const fn unpack(entry: u16) -> (usize, usize) {
    let entry = entry - 1;
    ((entry >> 8) as usize, (entry & 0xff) as usize)
}

#[expect(clippy::indexing_slicing, reason = "below both lengths")]
const fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// The row of a program: of its name, or of its name without a version.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    lookup(name).or_else(|| {
        let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let bare = bare.strip_suffix('-').unwrap_or(bare);
        if bare.len() == name.len() {
            return None;
        }
        lookup(bare).filter(|tool| tool.versions)
    })
}

fn lookup(name: &str) -> Option<&'static Tool> {
    let mut slot = hash(name.as_bytes()) % SLOTS;
    loop {
        let entry = INDEX.get(slot).copied().filter(|&entry| entry != 0)?;
        let (field, row) = unpack(entry);
        let tool = FIELDS.get(field)?.get(row)?;
        if tool.names.contains(&name) {
            return Some(tool);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Whether the table says what a program of this name does.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// True if the table says that a program of this name only reads its files.
pub fn is_reader(name: &str) -> bool {
    find(name).is_some_and(|tool| {
        tool.special.is_none()
            && tool.subs.is_empty()
            && !tool.acts.is_empty()
            && tool.acts.iter().all(super::row::Act::reads)
    })
}

/// Every name in the table, each once.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().flat_map(|rows| rows.iter()).flat_map(|tool| tool.names).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subcommands_have_names_of_their_own(tool: &Tool) -> usize {
        let mut seen = std::collections::HashSet::new();
        for sub in tool.subs {
            assert!(!sub.names.is_empty(), "a subcommand of {:?} has no name", tool.names);
            for name in sub.names {
                assert!(seen.insert(name), "`{name}` of {:?} stands for two", tool.names);
            }
        }
        1 + tool.subs.iter().map(subcommands_have_names_of_their_own).sum::<usize>()
    }

    #[test]
    fn every_row_can_be_reached() {
        let mut rows = 0;
        for tool in FIELDS.iter().flat_map(|rows| rows.iter()) {
            for name in tool.names {
                let found = lookup(name).unwrap_or_else(|| panic!("`{name}` is not found"));
                assert!(std::ptr::eq(found, tool), "`{name}` is another row");
            }
            rows += subcommands_have_names_of_their_own(tool);
        }
        assert!(rows > 500, "{rows} rows");
    }

    #[test]
    fn versions_are_no_part_of_a_name() {
        assert!(find("python3.12").is_some());
        assert!(find("gcc-13").is_some());
        assert!(find("rm2").is_none());
        assert!(find("").is_none());
    }

    #[test]
    fn options_of_a_row_mean_one_thing() {
        fn check(tool: &Tool) {
            let mut seen = std::collections::HashSet::new();
            for option in tool.options {
                for letter in option.short.chars() {
                    assert!(seen.insert(letter.to_string()), "-{letter} of {:?}", tool.names);
                    assert!(!tool.valued.contains(letter), "-{letter} of {:?}", tool.names);
                }
                for long in option.long {
                    assert!(seen.insert((*long).to_owned() + "="), "--{long} of {:?}", tool.names);
                    assert!(!tool.valued_long.contains(long), "--{long} of {:?}", tool.names);
                }
            }
            tool.subs.iter().for_each(check);
        }
        FIELDS.iter().flat_map(|rows| rows.iter()).for_each(check);
    }
}
