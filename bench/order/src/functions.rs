//! The functions of a program: where they are, what they are called and whose they are.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

use crate::Failure;

/// Below this part of what a name stands for without its hash, it stands for too much else.
const DENSE: f64 = 0.3;

/// The functions of a program that stands at a fixed place, by address.
pub(crate) struct Functions(BTreeMap<u64, Function>);

struct Function {
    /// With braces around what another build changes. Those of the C library have several.
    names: Vec<String>,
    owner: Owner,
    size: u64,
    first_byte: u8,
}

/// How the sections of functions begin that are hardly ever called, in the compiler's opinion.
const RARE: &str = "unlikely.";

/// Whose code it is.
#[derive(Clone, PartialEq, Eq)]
enum Owner {
    Crate(String),
    /// Of the C library, or what has no section by its own name.
    Other,
}

impl Functions {
    /// The functions of a program, with the linker's map of it.
    pub(crate) fn of(program: &Path, map: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(program)?;
        let file = object::File::parse(&*bytes)?;
        if file.kind() != object::ObjectKind::Executable {
            return Err("the program can be put anywhere; it has to be linked with -no-pie".into());
        }
        let text = fs::read_to_string(map)?;
        let sections: BTreeMap<u64, Section<'_>> = text.lines().filter_map(Section::of).collect();
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        for symbol in file.symbols() {
            if symbol.kind() != SymbolKind::Text || !symbol.is_definition() || symbol.size() == 0 {
                continue;
            }
            let (address, name) = (symbol.address(), symbol.name()?);
            let index = symbol.section_index().ok_or("a function that is in no section")?;
            let first = file.section_by_index(index)?.data_range(address, 1)?;
            let first_byte = *first.and_then(<[u8]>::first).ok_or("a function without code")?;
            let section = sections.get(&address).and_then(Section::owned);
            let function = functions.entry(address).or_insert_with(|| {
                let (owner, names) = match section {
                    Some((owner, name)) => (Owner::Crate(owner), vec![braced(name)]),
                    None => (Owner::Other, Vec::new()),
                };
                Function { names, owner, size: 0, first_byte }
            });
            function.size = function.size.max(symbol.size());
            if function.owner == Owner::Other {
                function.names.push(name.to_owned());
            }
        }
        Ok(Self(functions))
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    pub(crate) fn first_byte(&self, address: u64) -> Option<u8> {
        self.0.get(&address).map(|function| function.first_byte)
    }

    /// The names of what was called, in this order.
    pub(crate) fn laid_out(&self, calls: &[u64]) -> Vec<Name<'_>> {
        let called: Vec<_> = calls.iter().filter_map(|address| self.0.get(address)).collect();
        let all = sizes(self.0.values());
        let some = sizes(called.iter().copied());
        // What runs before `main` shares a section, which is laid out as a whole.
        let called = called.iter().filter(|function| !function.is_shared());
        let named = called.flat_map(|function| function.named());
        named
            .map(|(unit, name)| {
                let lasting = (unit, lasting(name));
                let is_sparse = (some[&lasting] as f64) < DENSE * all[&lasting] as f64;
                Name { unit, name, is_sparse }
            })
            .collect()
    }
}

/// A name for the linker to look for.
pub(crate) struct Name<'f> {
    /// Whose it is.
    pub(crate) unit: &'f str,
    /// With braces around what another build changes.
    pub(crate) name: &'f str,
    /// Whether it stands for much else without that.
    pub(crate) is_sparse: bool,
}

impl Function {
    /// Whether it is Rust's, and shares a section with others.
    fn is_shared(&self) -> bool {
        self.owner == Owner::Other && self.names.iter().any(|name| name.starts_with("_ZN"))
    }

    fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let owner = match &self.owner {
            Owner::Crate(name) => name,
            Owner::Other => "-",
        };
        self.names.iter().map(move |name| (owner, name.as_str()))
    }
}

/// How much code each name stands for, as far as it lasts.
fn sizes<'f>(functions: impl Iterator<Item = &'f Function>) -> HashMap<(&'f str, String), u64> {
    let mut sizes = HashMap::new();
    for function in functions {
        for (unit, name) in function.named() {
            *sizes.entry((unit, lasting(name))).or_default() += function.size;
        }
    }
    sizes
}

/// A section of an object file, in the linker's map.
struct Section<'m> {
    file: &'m str,
    name: &'m str,
}

impl<'m> Section<'m> {
    /// Reads a line: the address, another, the size and the alignment, then the file and the section in parentheses.
    fn of(line: &'m str) -> Option<(u64, Self)> {
        let address = u64::from_str_radix(line.split_whitespace().next()?, 16).ok()?;
        let (rest, name) = line.strip_suffix(')')?.rsplit_once(":(")?;
        let file = rest.get(rest.find('/')?..)?;
        name.starts_with(".text").then_some((address, Self { file, name }))
    }

    /// The crate that has compiled it and its name, if it stands alone in its section. What the compiler takes for rare
    /// it keeps apart, which is then the beginning of the name.
    fn owned(&self) -> Option<(String, &'m str)> {
        let name = self.name.strip_prefix(".text.")?;
        if !name.strip_prefix(RARE).unwrap_or(name).starts_with('_') {
            return None;
        }
        // As the compiler calls them: the program and a hash, the crate and a hash, its part. The program's own have no
        // crate there.
        let file = self.file.rsplit('/').next()?;
        let (program, rest) = file.split_once('-')?;
        let (_, part) = rest.split_once('.')?;
        let owner = match part.split_once('-') {
            Some((owner, _)) if file.ends_with(".rcgu.o.rcgu.o") => owner,
            _ if file.ends_with(".rcgu.o") => program,
            _ => return None,
        };
        Some((owner.to_owned(), name))
    }
}

/// A name with braces around what does not stay the same from build to build.
fn braced(name: &str) -> String {
    const HASH: &str = "17h";
    let plain = name.strip_prefix(RARE).unwrap_or(name);
    if plain.starts_with("_ZN")
        && let Some(at) = name.rfind(HASH)
    {
        let (lasting, hash) = name.split_at(at + HASH.len());
        // What is shared between parts of a crate has another number behind it.
        let hash = hash.split('.').next().unwrap_or_default();
        return format!("{lasting}{{{hash}}}");
    }
    if !plain.starts_with("_R") {
        return name.to_owned();
    }
    // In the other way of writing names it is the crate that has the hash: `Cs`, letters and digits, `_`.
    let mut parts = name.split("Cs");
    let mut braced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        braced.push_str("Cs");
        match part.split_once('_') {
            Some((hash, rest)) if hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                braced.extend(["{", hash, "}_", rest]);
            }
            _ => braced.push_str(part),
        }
    }
    braced
}

/// What stays the same of a name.
fn lasting(braced: &str) -> String {
    let mut lasting = String::new();
    for part in braced.split('}') {
        lasting.push_str(part.split('{').next().unwrap_or_default());
        lasting.push('*');
    }
    lasting
}
