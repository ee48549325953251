//! Who installs and uninstalls has what they had: with files. Texts of all sorts are tried where no disk
//! is waited for.

use std::fs;

use tollgate_install::{InstallError, Layer, Target, install_for, uninstall};

use crate::{Machine, cases, events, layer, layers, word};

/// Installs, looks at it, and uninstalls again.
fn there_and_back(target: &'static Target, layer: Layer, text: &str) -> Result<(), String> {
    let (machine, path) = Machine::with(target, layer, text.as_bytes());
    let before = machine.everything();
    let here = &machine.here;
    let told = |what: &str| {
        let now = fs::read_to_string(&path).unwrap_or_default();
        format!("{} {layer}: {what}\n--- before\n{text}\n--- now\n{now}", target.name)
    };
    let failed = |error: InstallError| told(&error.to_string());
    let plan = install_for(target, layer, here, &events(target)).map_err(failed)?;
    if plan.edits.len() != 1 {
        return Err(told("nothing to install"));
    }
    plan.apply().map_err(failed)?;
    let again = install_for(target, layer, here, &events(target)).map_err(failed)?;
    if !again.is_empty() {
        return Err(told("a second time there is something to install"));
    }
    uninstall(target, layer, here).map_err(failed)?.apply().map_err(failed)?;
    if machine.everything() != before {
        return Err(told("not what it was"));
    }
    if !uninstall(target, layer, here).map_err(failed)?.is_empty() {
        return Err(told("a second time there is something to uninstall"));
    }
    Ok(())
}

#[test]
fn files_as_people_have_them() {
    let cases = cases("files.json");
    assert!(cases.len() > 35, "there are cases");
    for case in cases {
        let target = Target::by_name(word(&case, "host")).unwrap();
        let name = word(&case, "name");
        if let Err(error) = there_and_back(target, layer(&case), word(&case, "text")) {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn no_file_before_and_none_after() {
    for target in Target::all() {
        let machine = Machine::new();
        for layer in layers(target, &machine.here) {
            // With all, some and none of the folders.
            let path = target.place(layer, &machine.here).unwrap();
            let folders: Vec<_> =
                path.ancestors().skip(1).take_while(|it| !it.exists()).map(Into::into).collect();
            let folders: Vec<Option<std::path::PathBuf>> =
                folders.into_iter().map(Some).chain([None]).collect();
            for folder in folders {
                let machine = Machine::new();
                if let Some(folder) = &folder {
                    let below = folder
                        .strip_prefix(
                            path.ancestors()
                                .find(|it| it.ends_with("home") || it.ends_with("project"))
                                .unwrap(),
                        )
                        .unwrap()
                        .to_path_buf();
                    let base = if layer == Layer::User {
                        &machine.here.home
                    } else {
                        &machine.here.project
                    };
                    fs::create_dir_all(base.join(below)).unwrap();
                }
                let before = machine.everything();
                let plan = install_for(target, layer, &machine.here, &events(target)).unwrap();
                assert!(
                    machine.everything() == before,
                    "{}: planning changes nothing",
                    target.name
                );
                plan.apply().unwrap();
                assert_ne!(machine.everything(), before);
                let again = install_for(target, layer, &machine.here, &events(target)).unwrap();
                assert!(again.is_empty(), "{}: {}", target.name, again.diff());
                uninstall(target, layer, &machine.here).unwrap().apply().unwrap();
                assert_eq!(machine.everything(), before, "{} {layer}", target.name);
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_not_touched() {
    for case in cases("refused.json") {
        let target = Target::by_name(word(&case, "host")).unwrap();
        let (machine, path) = Machine::with(target, layer(&case), word(&case, "text").as_bytes());
        let name = word(&case, "name");
        let error = install_for(target, layer(&case), &machine.here, &events(target)).unwrap_err();
        let text = error.to_string();
        let place = format!("{}:{}:{}: ", path.display(), case["line"], case["column"]);
        assert!(text.starts_with(&place), "{name}: {text} begins with {place}");
        assert!(text.contains(word(&case, "says")), "{name}: {text}");
        assert!(text.contains("nothing was changed"), "{name}: {text}");
        assert_eq!(fs::read(&path).unwrap(), word(&case, "text").as_bytes(), "{name}");
    }
}
