//! The examples, run as a user runs them.
mod support;
use std::path::PathBuf;
use std::process::{Command, Output};
use support::*;

/// Cargo builds them for the tests, beside the folder of the tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join(name)
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(example(name)).args(arguments).output().unwrap()
}

#[test]
fn notes_are_found() {
    let temp = Temp::new();
    let notes = temp.join("notes");
    std::fs::create_dir_all(notes.join("deep/.hidden")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(notes.join(name), text).unwrap();
    write("engine.txt", "the engine of the lane");
    write("deep/hello.md", "hello   world\nand hello");
    write("long.md", &"world of engine ".repeat(200));
    write("empty.txt", "");
    write("picture.png", "hello world and hello");
    write("deep/.hidden/no.txt", "hello world and hello");
    let (tiny, lane) = (temp.tiny(), temp.join("lane"));
    let places = [tiny.to_str().unwrap(), notes.to_str().unwrap()];
    let lane_dir = ["--lane-dir", lane.to_str().unwrap(), "--top", "2"];
    let said = run(
        "search_notes",
        &[&places[..], &["hello world and hello", "the engine of the lane"], &lane_dir].concat(),
    );
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(
        lines[1].starts_with("  1.000") && lines[1].ends_with("deep/hello.md: hello world and hello"),
        "{text}"
    );
    assert!(lines[4].starts_with("  1.000") && lines[4].contains("engine.txt: "), "{text}");
    assert!(!text.contains("picture") && !text.contains("hidden"));
    assert_eq!(children(), [] as [&str; 0]);
}

#[test]
fn wrong_usage_and_errors_are_said() {
    for arguments in [&["a", "b"][..], &["a", "b", "c", "--fast"], &["a", "b", "c", "--top", "x"]] {
        let said = run("search_notes", arguments);
        assert_eq!(said.status.code(), Some(2));
        assert!(String::from_utf8(said.stderr).unwrap().starts_with("usage: search_notes"));
    }
    let temp = Temp::new();
    let lane = temp.join("lane");
    let said = run("search_notes", &["/nowhere", "/nowhere", "x", "--lane-dir", lane.to_str().unwrap()]);
    assert_eq!(said.status.code(), Some(1));
    assert!(String::from_utf8(said.stderr).unwrap().starts_with("search_notes: IO: "));
    assert_eq!(run("golden", &["x"]).status.code(), Some(2));
}
