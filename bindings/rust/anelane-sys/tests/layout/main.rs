//! Every struct of the header, every field: size, alignment and place here are those of the C compiler, which a C
//! program prints. That the list (fields.rs) has all of them is checked too.
use anelane_sys::*;
use std::fmt::Write;
use std::{env, fs, mem, process::Command};

struct Struct {
    name: &'static str,
    size: usize,
    align: usize,
    fields: Vec<(&'static str, usize, usize)>,
}

fn size_of_field<S, F>(_: fn(&S) -> &F) -> usize {
    mem::size_of::<F>()
}

macro_rules! layout {
    ($($name:ident { $($field:ident)* })*) => {
        fn structs() -> Vec<Struct> {
            vec![$(Struct {
                name: stringify!($name),
                size: mem::size_of::<$name>(),
                align: mem::align_of::<$name>(),
                fields: vec![$((stringify!($field), mem::offset_of!($name, $field),
                                size_of_field::<$name, _>(|s| &s.$field))),*],
            }),*]
        }
    };
}
include!("fields.rs");

/// "name size align" of structs and ".field offset size" of fields, a line each.
fn in_rust() -> String {
    let mut text = String::new();
    for s in structs() {
        writeln!(text, "{} {} {}", s.name, s.size, s.align).unwrap();
        for (field, offset, size) in s.fields {
            writeln!(text, ".{field} {offset} {size}").unwrap();
        }
    }
    writeln!(text, "NO_DEADLINE {ANELANE_NO_DEADLINE}").unwrap();
    text
}

fn c_program() -> String {
    let mut text = String::from("#include <anelane.h>\n#include <stdio.h>\nint main(void) {\n");
    for s in structs() {
        let name = s.name;
        writeln!(text, "  printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").unwrap();
        for (field, ..) in s.fields {
            writeln!(text, "  printf(\".{field} %zu %zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));")
                .unwrap();
        }
    }
    text + "  printf(\"NO_DEADLINE %llu\\n\", (unsigned long long)ANELANE_NO_DEADLINE);\n  return 0;\n}\n"
}

fn in_c() -> String {
    let folder = env::temp_dir().join(format!("anelane-layout-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    fs::write(&source, c_program()).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../include");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Werror", "-I", include, "-o"])
        .arg(&program)
        .arg(&source)
        .output()
        .expect("a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let said = Command::new(&program).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn layouts_are_those_of_the_c_compiler() {
    let (rust, c) = (in_rust(), in_c());
    assert!(c.lines().count() > 100, "only {} lines", c.lines().count());
    for (ours, theirs) in rust.lines().zip(c.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(rust, c);
}

#[test]
fn the_list_has_every_struct_of_the_header() {
    let header = include_str!("../../../../../include/anelane.h");
    let in_header = header.lines().filter(|line| line.starts_with("typedef struct ")).count();
    let listed = structs();
    assert_eq!(listed.len(), in_header);
    let declared = include_str!("../../src/bindings.rs")
        .lines()
        .filter(|line| line.starts_with("    pub ") && line.contains(':') && !line.contains("fn "))
        .count();
    assert_eq!(listed.iter().map(|s| s.fields.len()).sum::<usize>(), declared);
}

#[test]
fn constants_have_the_types_of_their_typedefs() {
    let _: (anelane_status, anelane_class, anelane_engine) =
        (ANELANE_PENDING, ANELANE_TRANSIENT, ANELANE_ENGINE_SOFT);
    assert_eq!((ANELANE_PENDING, ANELANE_U8, ANELANE_PROGRAM), (28, 5, 3));
    // SAFETY: the library that these tests are for; the function takes nothing and always answers.
    let version = unsafe {
        load(None).unwrap();
        anelane_abi_version()
    };
    assert_eq!(version, ANELANE_ABI_VERSION);
}
