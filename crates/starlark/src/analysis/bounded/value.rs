//! Bounds of values.

use super::PAYLOAD;

/// A number of bytes: at most, and on average over the turns of the loops around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    pub(super) most: u64,
    pub(super) mean: u64,
}

impl Amount {
    pub(super) const fn flat(bytes: u64) -> Amount {
        Amount { most: bytes, mean: bytes }
    }

    pub(super) fn plus(self, other: Amount) -> Amount {
        Amount {
            most: self.most.saturating_add(other.most),
            mean: self.mean.saturating_add(other.mean),
        }
    }

    pub(super) fn and(self, bytes: u64) -> Amount {
        self.plus(Amount::flat(bytes))
    }

    pub(super) fn times(self, factor: u64) -> Amount {
        Amount { most: self.most.saturating_mul(factor), mean: self.mean.saturating_mul(factor) }
    }

    /// The product. Averages of both sides need not meet, so one side counts in full.
    pub(super) fn product(self, other: Amount) -> Amount {
        let mean = self.mean.saturating_mul(other.most).min(self.most.saturating_mul(other.mean));
        Amount { most: self.most.saturating_mul(other.most), mean }
    }

    pub(super) fn max(self, other: Amount) -> Amount {
        Amount { most: self.most.max(other.most), mean: self.mean.max(other.mean) }
    }

    pub(super) fn capped(self, bytes: u64) -> Amount {
        Amount { most: self.most.min(bytes), mean: self.mean.min(bytes) }
    }
}

/// What is known about what a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number that is at most this, either way, and fits 32 bits.
    Small {
        most: u64,
    },
    /// A whole number that grows by at most 32 bits' worth with each operation.
    Count,
    Any,
}

/// Bounds of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Val {
    pub(super) kind: Kind,
    /// Bytes when written out, everything it refers to included each time. A place in a list counts at least 1.
    pub(super) size: Amount,
    /// How many elements it has.
    pub(super) items: u64,
    /// The size of the largest element, at any level.
    pub(super) item: u64,
    /// How many elements an element has, at any level.
    pub(super) deep: u64,
}

/// What a number, or anything of fixed size, takes.
const FIXED: u64 = 24;

impl Val {
    /// Nothing yet: below everything.
    pub(super) const NOTHING: Val =
        Val { kind: Kind::Small { most: 0 }, size: Amount::flat(0), items: 0, item: 0, deep: 0 };

    pub(super) fn small(most: u64) -> Val {
        let kind = if most < 1 << 31 { Kind::Small { most } } else { Kind::Count };
        Val { kind, size: Amount::flat(FIXED), ..Val::NOTHING }
    }

    pub(super) fn count() -> Val {
        Val { kind: Kind::Count, ..Val::small(0) }
    }

    /// Something of fixed size: a truth value, `None`, a floating-point number.
    pub(super) fn fixed() -> Val {
        Val { kind: Kind::Any, ..Val::small(0) }
    }

    /// The payload, or a part of it, or as good as one.
    pub(super) fn payload() -> Val {
        Val {
            kind: Kind::Any,
            size: Amount::flat(PAYLOAD),
            items: PAYLOAD / 2,
            item: PAYLOAD,
            deep: PAYLOAD / 2,
        }
    }

    /// A text of this size. Its characters are its elements where it is indexed.
    pub(super) fn text(size: Amount) -> Val {
        Val { kind: Kind::Any, size, items: 0, item: 4.min(size.most), deep: 0 }
    }

    /// Something with all the bounds of another, but another size.
    pub(super) fn sized(self, size: Amount) -> Val {
        Val { kind: Kind::Any, size, ..self }
    }

    pub(super) fn is_number(&self) -> bool {
        !matches!(self.kind, Kind::Any)
    }

    /// One of its elements.
    pub(super) fn element(&self) -> Val {
        let mean = self.size.most.div_ceil(self.items.max(1));
        Val {
            kind: Kind::Any,
            size: Amount { most: self.item, mean: mean.min(self.item) },
            items: self.deep,
            item: self.item,
            deep: self.deep,
        }
    }

    /// One of its elements, wherever it is used: not once for each.
    pub(super) fn any_element(&self) -> Val {
        self.element().settled()
    }

    /// The same where the average does not hold any more.
    pub(super) fn settled(self) -> Val {
        Val { size: Amount::flat(self.size.most), ..self }
    }

    /// How many elements: each takes at least one byte of its size.
    pub(super) fn count_of_items(&self) -> Amount {
        Amount { most: self.items, mean: self.items.min(self.size.mean) }
    }

    /// Either of two.
    pub(super) fn or(self, other: Val) -> Val {
        let kind = match (self.kind, other.kind) {
            (Kind::Any, _) | (_, Kind::Any) => Kind::Any,
            (Kind::Count, _) | (_, Kind::Count) => Kind::Count,
            (Kind::Small { most: one }, Kind::Small { most: two }) => {
                Kind::Small { most: one.max(two) }
            }
        };
        Val {
            kind,
            size: self.size.max(other.size),
            items: self.items.max(other.items),
            item: self.item.max(other.item),
            deep: self.deep.max(other.deep),
        }
    }

    /// Both, one after the other: texts or lists that are joined.
    pub(super) fn with(self, other: Val) -> Val {
        Val {
            kind: Kind::Any,
            size: self.size.plus(other.size).and(1),
            items: self.items.saturating_add(other.items),
            item: self.item.max(other.item),
            deep: self.deep.max(other.deep),
        }
    }

    /// A list, tuple or dict of which this is an element, `times` over.
    pub(super) fn in_a_list(self, times: u64) -> Val {
        Val {
            kind: Kind::Any,
            size: self.size.and(8).times(times),
            items: times,
            item: self.size.most.max(self.item),
            deep: self.items.max(self.deep),
        }
    }

    /// What it takes to write it as `str` and `repr` do: escapes, and numbers with all their digits.
    pub(super) fn written(&self) -> Amount {
        match self.kind {
            Kind::Any => self.size.times(10).and(400),
            _ => self.size,
        }
    }
}
