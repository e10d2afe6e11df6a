//! What a confined program cannot change although it is within a directory that the program may write.

use crate::support::needs;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a script prints under a guard; `$D` is the directory of its files.
fn confined(dir: &Path, options: &[&str], script: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swb"));
    command.args(["guard", "--confine"]).args(options).args(["--", "/bin/sh", "-c", script]);
    let output = command.env("D", dir).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn repository(path: &Path) {
    for name in ["hooks", "objects", "refs"] {
        fs::create_dir_all(path.join(name)).unwrap();
    }
    for name in ["HEAD", "config"] {
        fs::write(path.join(name), "").unwrap();
    }
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_guard_protects_a_repository_wherever_it_is_in_the_workspace() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    repository(&dir.path().join("bare"));
    for (workspace, own) in [("near", ".bare"), ("far", "a/b/repo")] {
        repository(&dir.path().join(workspace).join(own));
        fs::write(dir.path().join(workspace).join(".git"), format!("gitdir: ./{own}\n")).unwrap();
    }
    let script = "
        cd $W; R=$W/$O
        echo x > new && echo 'the rest'
        echo x 2>/dev/null > $R/hooks/post-checkout || echo 'no hooks'
        echo x 2>/dev/null >> $R/config || echo 'no settings'
        echo x 2>/dev/null > $R/commondir || echo 'no other settings'
        mv $R other 2>/dev/null || echo 'no other repository'
        mv ${O%%/*} another 2>/dev/null || echo 'no other directory'
        true";
    let kept = "no hooks\nno settings\nno other settings\nno other repository\nno other directory\n";
    let found = |workspace: &str, own: &str, options: &[&str]| {
        let path = dir.path().join(workspace).to_str().unwrap().to_owned();
        let options = [&["--write", &path], options].concat();
        confined(dir.path(), &options, &format!("W={path}; O={own}\n{script} 2>/dev/null"))
    };
    assert_eq!(found("near", ".bare", &[]), format!("the rest\n{kept}"));
    assert_eq!(found("far", "a/b/repo", &[]), format!("the rest\n{kept}"));
    // A repository without a working tree is nothing but what git runs.
    assert_eq!(found("bare", ".", &[]), kept);
    assert_eq!(found("near", ".bare", &["--git-writable"]), "the rest\nno other directory\n");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_guard_protects_directories_that_the_daemon_names() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(at("home/.config/swb")).unwrap();
    let script = "
        cd $D/home
        echo x > new && echo x > .config/new && echo 'the rest'
        echo x 2>/dev/null > .config/swb/config.toml || echo 'no settings'
        echo x 2>/dev/null > .state/swb/trusted || echo 'no trust'
        mv .config/swb .config/old 2>/dev/null || mv .config old 2>/dev/null || echo 'no other settings'
        mv .state old 2>/dev/null || echo 'no other state'";
    let [home, config, state, missing] = ["home", "home/.config/swb", "home/.state/swb", "missing"].map(at);
    let mut options = vec!["--write", &home];
    options.extend([&config, &state, &missing].iter().flat_map(|dir| ["--protect", dir]));
    let kept = "the rest\nno settings\nno trust\nno other settings\nno other state\n";
    assert_eq!(confined(dir.path(), &options, script), kept);
    assert!(fs::read_dir(&state).unwrap().next().is_none());
    assert!(!Path::new(&missing).exists(), "no program could create it");
    // A workspace within a protected directory is writable.
    let above = at("home/.config");
    let within = ["--write", &config, "--protect", &above];
    assert_eq!(confined(dir.path(), &within, "cd $D/home/.config/swb && echo x > new && echo 'it'"), "it\n");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn links_in_directories_of_agents_grant_nothing() {
    needs::landlock();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["home/.ssh", "ws", "tools"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("home/.ssh/key"), "secret").unwrap();
    fs::write(at("tools/word"), "readable").unwrap();
    // The user's search path and settings name what is in the workspace, and an agent has put links in their places.
    symlink(at("home/.ssh"), at("ws/bin")).unwrap();
    symlink(at("home/.ssh"), at("ws/gitconfig")).unwrap();
    symlink(at("ws/gitconfig"), at("home/.gitconfig")).unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", at("ws/bin").display(), at("tools").display());
    let output = Command::new(env!("CARGO_BIN_EXE_swb"))
        .args(["guard", "--confine", "--agents"])
        .args([at("ws"), "--write".into(), at("ws"), "--".into()])
        .args(["/bin/sh", "-c", "cat $D/home/.ssh/key 2>/dev/null || echo denied; cat $D/tools/word"])
        .envs([("PATH", path.into()), ("HOME", at("home")), ("D", dir.path().to_owned())])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "denied\nreadable", "{output:?}");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_link_that_has_replaced_a_directory_is_not_followed() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for name in ["home", "ws"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("home/key"), "secret").unwrap();
    symlink(at("home"), at("context")).unwrap();
    let options = ["--write", &at("ws"), "--read", &at("context")];
    let script = "cat $D/home/key 2>/dev/null || echo denied";
    assert_eq!(confined(dir.path(), &options, script), "denied\n");
    let output = Command::new(env!("CARGO_BIN_EXE_swb"))
        .args(["guard", "--confine", "--write", &at("context"), "--", "/bin/sh", "-c", "touch $D/home/new"])
        .env("D", dir.path())
        .output()
        .unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(!Path::new(&at("home/new")).exists());
}
