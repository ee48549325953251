//! Which fields of its payload a script looks at.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use tollgate_starlark::analysis::{Reads, SCRIPT, WHEN, check_script, check_when};

fn only(fields: &[&str]) -> Reads {
    Reads::Only(fields.iter().map(|field| (*field).to_owned()).collect())
}

fn of(script: &str) -> Reads {
    let checked = check_script(script, &SCRIPT);
    checked.unwrap_or_else(|problems| panic!("{script}\n{problems:?}")).facts.reads
}

/// As the body of `handle(event, payload)`.
fn body(lines: &str) -> String {
    let lines = lines.replace('\n', "\n    ");
    format!("def handle(event, payload):\n    {lines}\n    return allow()\n")
}

#[test]
fn fields_that_are_named_are_all_that_is_read() {
    for (lines, fields) in [
        ("pass", &[][..]),
        ("log(event)", &[]),
        ("log(payload['name'])", &["name"]),
        ("log(payload.get('name'), payload.get('x', payload['args']))", &["args", "name", "x"]),
        ("log('turn' in payload, 'step' not in payload)", &["step", "turn"]),
        (
            "if payload['args'].get('a', {}).get('b'):\n    log(payload['arguments']['c'])",
            &["args", "arguments"],
        ),
        ("log(payload[\"na\\x6de\"])", &["name"]),
        ("for arg in payload['args']:\n    log(arg, payload['name'])", &["args", "name"]),
        ("x = [a for a in payload['args'] if a in payload['name']]", &["args", "name"]),
        ("x = {a: payload['turn'] for a in 'ab'.elems()}", &["turn"]),
        ("log(f'{event}', f'{event}' + payload['name'])", &["name"]),
        // Functions inside that have nothing to do with it.
        ("f = lambda x: x\nlog(f(payload['name']))", &["name"]),
        ("def f(x):\n    return x\nlog(f(payload['name']))", &["name"]),
        ("f = lambda payload: 1\nlog(f(2))", &[]),
    ] {
        assert_eq!(of(&body(lines)), only(fields), "{lines}");
    }
}

#[test]
fn parameters_have_any_names() {
    for (script, fields) in [
        ("def handle(e, p):\n    return block(p['name'])\n", &["name"][..]),
        ("def handle(payload, event):\n    return block(payload + event['name'])\n", &["name"]),
        ("def handle(event, payload=None):\n    return block(payload['a'])\n", &["a"]),
        ("def handle(event, payload, more=1):\n    return block(payload['a'])\n", &["a"]),
        (
            "def handle(event, payload, *rest):\n    return block(payload['a'] + str(rest))\n",
            &["a"],
        ),
        // A name at the top level that the parameter hides, and one that another function has.
        ("payload = {}\ndef handle(e, p):\n    return block(p['a'] + str(payload))\n", &["a"]),
        (
            "def f(payload):\n    return str(payload)\ndef handle(event, payload):\n    \
             return block(payload['a'] + f(1))\n",
            &["a"],
        ),
        (
            "payload = 1\ndef handle(event, payload, x=payload):\n    return block(payload['a'])\n",
            &["a"],
        ),
    ] {
        assert_eq!(of(script), only(fields), "{script}");
    }
}

#[test]
fn in_doubt_all_of_it_is_read() {
    for lines in [
        // As a whole.
        "log(payload)",
        "log(str(payload))",
        "log(f'{payload}')",
        "log(json.encode(payload))",
        "log(len(payload))",
        "log(type(payload))",
        "if payload:\n    pass",
        "x = not payload",
        "x = payload == {}",
        "x = payload or {}",
        "x = payload | {'a': 1}",
        "x = 1 if payload else 2",
        "x = [payload]",
        "x = (1, payload)",
        "x = {'a': payload}",
        "x = {1: payload['a'], 2: payload}",
        "return payload",
        // By names that are not in the text.
        "log(payload[event])",
        "log(payload['na' + 'me'])",
        "log(payload.get(event))",
        "log(payload.get('a', payload))",
        "log(payload.get(*['a']))",
        "log(payload.get(key='a'))",
        "log(payload.get('a', **payload))",
        "log(payload.get())",
        "log(event in payload)",
        "log(payload in [payload])",
        "log('a' in payload or payload)",
        "x = payload[f'a']",
        "x = payload[0]",
        "x = payload['a', 'b']",
        "x = payload['a':'b']",
        // Other methods, and methods kept.
        "log(payload.keys())",
        "log(payload.items())",
        "log(payload.values())",
        "x = payload.get\nlog(x('name'))",
        "log(getattr(payload, 'keys')())",
        "log(hasattr(payload, 'keys'))",
        "log(dir(payload))",
        // Walked through.
        "for x in payload:\n    log(x)",
        "x = [x for x in payload]",
        "x = {x: 1 for x in payload}",
        "x = [1 for a in [1] for b in payload]",
        "x = [1 for a in [1] if payload]",
        // Other names of it, and other things of its name.
        "other = payload\nlog(other['name'])",
        "a, b = payload, 1",
        "payload = {}\nlog(payload['a'])",
        "payload = dict(payload)\nlog(payload['a'])",
        "log(payload['a'])\npayload = 1",
        "payload += 1",
        "for payload in [{}]:\n    log(payload['a'])",
        "for i, payload in [(1, {})]:\n    log(payload['a'])",
        "x = [payload['a'] for payload in [{}]]",
        "x = [1 for a in payload['a'] for payload in [{}]]",
        "x = {1: payload['a'] for payload in [{}]}",
        "def payload():\n    return 1\nlog(payload())",
        // Kept by a function inside.
        "f = lambda: payload\nlog(f())",
        "f = lambda: payload['name']\nlog(f())",
        "f = lambda x=payload: x\nlog(f())",
        "f = lambda payload: payload['a']\nlog(f({}))",
        "f = lambda: [payload for x in [1]]\nlog(f())",
        "def f():\n    return payload['name']\nlog(f())",
        "def f(x=payload):\n    return x\nlog(f())",
        "def f(payload):\n    return payload['a']\nlog(f({}))",
        "def f():\n    def g():\n        return payload\n    return g\nlog(f()())",
        // Handed on.
        "log(*payload)",
        "log('a', **payload)",
        "log(handle(event, payload))",
        // Changed.
        "payload['a'] = 1",
        "payload['a'] += 1",
        "payload['args']['a'] = 1",
        "payload['args'].update({'a': 1})",
        "payload.pop('a')",
        "a = payload['args']\na['b'] = 1",
    ] {
        assert_eq!(of(&body(lines)), Reads::All, "{lines}");
    }
    for script in [
        // Which function is called, and where the payload goes.
        "handle = lambda event, payload: block(payload['a'])\n",
        "def handle(*all):\n    return block(str(all))\n",
        "def handle(event, *rest):\n    return block(str(rest))\n",
        "def handle(event, payload, /):\n    return block(payload['a'] + str(payload))\n",
        "def handle(event, payload):\n    return allow()\n\
         def handle(event, payload):\n    return block(str(payload))\n",
        "def other(event, payload):\n    return block(str(payload))\n\
         def handle(event, payload):\n    return allow()\nhandle = other\n",
        "def helper(p):\n    return p['a']\n\
         def handle(event, payload):\n    return block(helper(payload))\n",
    ] {
        let checked = check_script(script, &SCRIPT).map(|checked| checked.facts.reads);
        assert!(matches!(checked, Ok(Reads::All) | Err(_)), "{script}");
    }
}

#[test]
fn conditions_have_one_payload() {
    for (text, reads) in [
        ("payload['name'] == 'a'", only(&["name"])),
        ("any([x in payload['args'] for x in ['a']])", only(&["args"])),
        ("any([payload for payload in [1]])", Reads::All),
        ("(lambda: payload['a'])()", Reads::All),
        ("len(payload) > 3", Reads::All),
    ] {
        assert_eq!(check_when(text, &WHEN).unwrap().facts.reads, reads, "{text}");
    }
}

#[test]
fn together_they_read_what_each_reads() {
    assert_eq!(only(&["a", "b"]).and(&only(&["b", "c"])), only(&["a", "b", "c"]));
    assert_eq!(only(&["a"]).and(&Reads::All), Reads::All);
    assert_eq!(Reads::All.and(&only(&[])), Reads::All);
}
