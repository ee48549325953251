//! Names of programs, and tables of them that are laid out when they are compiled.

/// For the hash of each name, the number of its row plus one; zero where there is none.
pub(crate) struct Index<const SLOTS: usize> {
    slots: [u8; SLOTS],
}

impl<const SLOTS: usize> Index<SLOTS> {
    /// Of rows that have these names. Where several have the same one, the first counts.
    #[expect(clippy::indexing_slicing, reason = "runs when it is compiled, never later")]
    #[expect(clippy::cast_possible_truncation, reason = "it is checked")]
    pub(crate) const fn new(rows: &[&[&str]]) -> Self {
        assert!(SLOTS.is_power_of_two() && rows.len() < 256, "too many rows");
        let mut slots = [0_u8; SLOTS];
        let mut names = 0;
        let mut row = 0;
        while row < rows.len() {
            let mut name = 0;
            while name < rows[row].len() {
                let mut slot = hash(rows[row][name].as_bytes()) % SLOTS;
                while slots[slot] != 0 {
                    slot = (slot + 1) % SLOTS;
                }
                slots[slot] = row as u8 + 1;
                names += 1;
                name += 1;
            }
            row += 1;
        }
        assert!(names < SLOTS / 2, "too many names");
        Self { slots }
    }

    /// The number of the row that has this name.
    pub(crate) fn find(&self, name: &str, has: impl Fn(usize) -> bool) -> Option<usize> {
        let mut slot = hash(name.as_bytes()) % SLOTS;
        loop {
            let row = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
            if has(row) {
                return Some(row);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "below the length")]
pub(crate) const fn hash(name: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut index = 0;
    while index < name.len() {
        hash = (hash ^ name[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    (hash ^ (hash >> 15)) as usize
}

/// The name of a program without its directories.
pub(crate) fn base(path: &str) -> &str {
    // Most have none, and all are short.
    match path.bytes().rposition(|byte| byte == b'/') {
        Some(at) => path.get(at + 1..).unwrap_or_default(),
        None => path,
    }
}
