use super::limits::{ENTRIES, FILE, MATCHES};
use super::walk::{Match, SearchMatches};
use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use swb_types::Timestamp;
use tempfile::TempDir;

struct Rig {
    dir: TempDir,
    fs: WorkspaceFs,
}

/// `ws` is the workspace, `ctx` may be read, `secret` is outside.
fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    for name in ["ws/src", "ctx", "out"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("out/secret"), "secret words").unwrap();
    fs::write(dir.path().join("ctx/notes"), "notes").unwrap();
    fs::write(dir.path().join("ws/src/a.txt"), "one\ntwo\n").unwrap();
    let mut workspace = Workspace::new(&dir.path().join("ws"), Timestamp(0));
    workspace.context_dirs.push(dir.path().join("ctx"));
    let fs = WorkspaceFs::new(&workspace, &dir.path().join("ws"), 0o022, &[]);
    Rig { dir, fs }
}

impl Rig {
    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn absolute(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }
}

fn is_outside<T: std::fmt::Debug>(result: Result<T, WorkspaceFsError>) -> bool {
    matches!(result, Err(WorkspaceFsError::Outside(_) | WorkspaceFsError::Moved(_)))
}

#[test]
fn files_of_the_workspace_and_its_context_are_read() {
    let rig = rig();
    assert_eq!(rig.fs.read("src/a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(rig.fs.read("./src/../src/a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(rig.fs.read(&rig.absolute("ws/src/a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(rig.fs.read(&rig.absolute("ctx/notes")).unwrap(), "notes");
    assert_eq!(rig.fs.read("../ctx/notes").unwrap(), "notes");
    assert_eq!(rig.fs.resolve_read("src").unwrap(), rig.at("ws/src").canonicalize().unwrap());
}

#[test]
fn nothing_else_is_read_or_written() {
    let rig = rig();
    symlink(rig.at("out/secret"), rig.at("ws/absolute")).unwrap();
    symlink("../out/secret", rig.at("ws/relative")).unwrap();
    symlink("../out", rig.at("ws/directory")).unwrap();
    symlink("/proc/self/root", rig.at("ws/magic")).unwrap();
    let absolute = rig.absolute("out/secret");
    let magic = format!("magic{absolute}");
    let beside = rig.absolute("ws-beside");
    let outside = [
        "../out/secret",
        "src/../../out/secret",
        "absolute",
        "relative",
        "directory/secret",
        "/etc/passwd",
        "/proc/self/environ",
        "..",
        "/",
        &absolute,
        &magic,
        &beside,
    ];
    for path in outside {
        assert!(is_outside(rig.fs.read(path)), "{path}: {:?}", rig.fs.read(path));
        assert!(is_outside(rig.fs.write(path, "x")), "{path}");
        assert!(is_outside(rig.fs.resolve_read(path)), "{path}");
        assert!(is_outside(rig.fs.check_write(path)), "{path}");
    }
    for path in ["directory/new", "directory/deep/new"] {
        assert!(is_outside(rig.fs.write(path, "x")), "{path}");
    }
    assert!(is_outside(rig.fs.list(&ListQuery { path: "directory".into(), ..ListQuery::default() })));
    assert_eq!(fs::read_to_string(rig.at("out/secret")).unwrap(), "secret words");
    assert_eq!(fs::read_dir(rig.at("out")).unwrap().count(), 1);
}

#[test]
fn context_directories_are_not_written_not_even_through_links() {
    let rig = rig();
    symlink(rig.at("ctx/notes"), rig.at("ws/notes")).unwrap();
    assert_eq!(rig.fs.read("notes").unwrap(), "notes");
    let absolute = rig.absolute("ctx/notes");
    for path in [absolute.as_str(), "notes", "../ctx/new"] {
        assert!(matches!(rig.fs.write(path, "x"), Err(WorkspaceFsError::ReadOnly(_))), "{path}");
        assert!(matches!(rig.fs.check_write(path), Err(WorkspaceFsError::ReadOnly(_))), "{path}");
    }
    assert_eq!(fs::read_to_string(rig.at("ctx/notes")).unwrap(), "notes");
}

#[test]
fn the_files_of_git_are_not_written() {
    let rig = rig();
    fs::create_dir_all(rig.at("ws/.git/hooks")).unwrap();
    fs::write(rig.at("ws/.git/config"), "").unwrap();
    symlink(".git", rig.at("ws/link")).unwrap();
    symlink(".git/config", rig.at("ws/file")).unwrap();
    let paths =
        [".git/config", ".git/hooks/x", ".GIT/x", "src/.git", "src/.git/y", "link/x", "link/hooks/x", "file"];
    for path in paths {
        let result = rig.fs.write(path, "x");
        assert!(matches!(result, Err(WorkspaceFsError::OfGit(_))), "{path}: {result:?}");
    }
    assert!(matches!(rig.fs.check_write(".git/config"), Err(WorkspaceFsError::OfGit(_))));
    rig.fs.write(".gitignore", "x").unwrap();
    let mut workspace = Workspace::new(&rig.at("ws"), Timestamp(0));
    workspace.git_writable = true;
    WorkspaceFs::new(&workspace, &rig.at("ws"), 0o022, &[]).write(".git/config", "x").unwrap();
}

#[test]
fn repositories_of_other_names_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for name in ["ws/.bare/hooks", "bare/objects", "bare/refs"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("ws/.git"), "gitdir: ./.bare\n").unwrap();
    for name in ["ws/.bare/config", "bare/HEAD", "bare/config"] {
        fs::write(at(name), "").unwrap();
    }
    let files = |name: &str, git_writable| {
        let mut workspace = Workspace::new(&at(name), Timestamp(0));
        workspace.git_writable = git_writable;
        WorkspaceFs::new(&workspace, &at(name), 0o022, &[])
    };
    for (workspace, path) in
        [("ws", ".bare/config"), ("ws", ".bare/hooks/x"), ("bare", "config"), ("bare", "commondir")]
    {
        let result = files(workspace, false).write(path, "x");
        assert!(matches!(result, Err(WorkspaceFsError::OfGit(_))), "{workspace}/{path}: {result:?}");
        files(workspace, true).write(path, "x").unwrap();
    }
    files("ws", false).write("new", "x").unwrap();
}

#[test]
fn a_context_directory_replaced_by_a_link_is_ignored() {
    let rig = rig();
    fs::create_dir_all(rig.at("data/docs")).unwrap();
    fs::write(rig.at("data/docs/secret"), "data").unwrap();
    let mut workspace = Workspace::new(&rig.at("ws"), Timestamp(0));
    workspace.context_dirs = vec![rig.at("ws/src"), rig.at("data/docs")];
    workspace.landlock_write.push(rig.at("data"));
    let fs = || WorkspaceFs::new(&workspace, &rig.at("ws"), 0o022, &[]);
    let before = fs();
    assert_eq!(fs().read("src/a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(fs().read("../data/docs/secret").unwrap(), "data");
    for dir in ["ws/src", "data/docs"] {
        fs::rename(rig.at(dir), rig.at("moved")).unwrap();
        symlink(rig.at("out"), rig.at(dir)).unwrap();
        fs::remove_dir_all(rig.at("moved")).unwrap();
    }
    for path in ["src/secret", "../data/docs/secret", &rig.absolute("out/secret")] {
        assert!(is_outside(fs().read(path)), "{path}");
        assert!(before.read(path).is_err(), "{path}");
    }
}

#[test]
fn directories_that_agents_of_other_workspaces_have_replaced_are_refused() {
    let rig = rig();
    let real = rig.dir.path().canonicalize().unwrap();
    fs::create_dir_all(rig.at("mono/inner/x")).unwrap();
    fs::create_dir_all(rig.at("mono/docs")).unwrap();
    let mut workspace = Workspace::new(&rig.at("mono/inner/x"), Timestamp(0));
    workspace.context_dirs = vec![rig.at("mono/docs")];
    let agents = [real.join("mono"), real.join("mono/inner/x")];
    let fs = || WorkspaceFs::new(&workspace, &workspace.path, 0o022, &agents);
    fs().write("new", "x").unwrap();
    fs::rename(rig.at("mono/inner"), rig.at("mono/old")).unwrap();
    fs::remove_dir(rig.at("mono/docs")).unwrap();
    fs::create_dir(rig.at("out/x")).unwrap();
    for link in ["mono/inner", "mono/docs"] {
        symlink(rig.at("out"), rig.at(link)).unwrap();
    }
    let error = fs().write("new", "x").unwrap_err();
    assert!(error.to_string().contains("mono/inner/x leads through a symbolic link"), "{error}");
    assert!(matches!(fs().check_write("new"), Err(WorkspaceFsError::Moved(_))));
    let read = fs().read(&rig.absolute("mono/docs/secret"));
    assert!(matches!(&read, Err(WorkspaceFsError::Moved(path)) if *path == rig.at("mono/docs")), "{read:?}");
    assert_eq!(fs::read_dir(rig.at("out/x")).unwrap().count(), 0);
    // A link elsewhere is the user's own.
    let other = WorkspaceFs::new(&workspace, &workspace.path, 0o022, &[real.join("ws")]);
    other.write("new", "x").unwrap();
}

#[test]
fn a_working_directory_replaced_by_a_link_is_ignored() {
    let rig = rig();
    symlink(rig.at("ws"), rig.at("alias")).unwrap();
    let workspace = Workspace::new(&rig.at("alias"), Timestamp(0));
    let working_dir = rig.at("ws/src").canonicalize().unwrap();
    let fs = || WorkspaceFs::new(&workspace, &working_dir, 0o022, &[]);
    assert_eq!(fs().read("a.txt").unwrap(), "one\ntwo\n");
    fs::remove_dir_all(rig.at("ws/src")).unwrap();
    symlink(rig.at("out"), rig.at("ws/src")).unwrap();
    assert!(is_outside(fs().read("secret")));
    assert!(is_outside(fs().write("secret", "x")));
}

#[test]
fn links_within_the_workspace_work() {
    let rig = rig();
    symlink("src", rig.at("ws/relative")).unwrap();
    symlink(rig.at("ws/src"), rig.at("ws/absolute")).unwrap();
    symlink("src/a.txt", rig.at("ws/file")).unwrap();
    for path in ["relative/a.txt", "absolute/a.txt", "file"] {
        assert_eq!(rig.fs.read(path).unwrap(), "one\ntwo\n", "{path}");
        assert_eq!(rig.fs.write(path, "one\ntwo\n").unwrap().as_deref(), Some("one\ntwo\n"), "{path}");
    }
    assert!(fs::symlink_metadata(rig.at("ws/file")).unwrap().is_symlink(), "the link is still one");
}

#[test]
fn a_workspace_behind_a_link_has_one_identity() {
    let rig = rig();
    symlink(rig.at("ws"), rig.at("alias")).unwrap();
    let workspace = Workspace::new(&rig.at("alias"), Timestamp(0));
    let fs = WorkspaceFs::new(&workspace, &rig.at("alias"), 0o022, &[]);
    for path in ["src/a.txt", &rig.absolute("ws/src/a.txt"), &rig.absolute("alias/src/a.txt")] {
        assert!(fs.read(path).is_ok(), "{path}");
        assert!(fs.write(path, "x").is_ok(), "{path}");
    }
    assert_eq!(fs.list(&ListQuery::default()).unwrap().entries.len(), 2);
}

#[test]
fn writing_replaces_in_one_step_and_keeps_the_mode() {
    let rig = rig();
    fs::set_permissions(rig.at("ws/src/a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(rig.fs.write("src/a.txt", "new").unwrap().as_deref(), Some("one\ntwo\n"));
    assert_eq!(fs::read_to_string(rig.at("ws/src/a.txt")).unwrap(), "new");
    assert_eq!(fs::metadata(rig.at("ws/src/a.txt")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(rig.fs.write("deep/er/b.txt", "b").unwrap(), None);
    assert_eq!(fs::metadata(rig.at("ws/deep/er/b.txt")).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::metadata(rig.at("ws/deep/er")).unwrap().permissions().mode() & 0o777, 0o755);
    let left: Vec<_> = fs::read_dir(rig.at("ws/src")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn files_that_are_not_text_are_rejected() {
    let rig = rig();
    fs::write(rig.at("ws/nul"), b"a\0b").unwrap();
    fs::write(rig.at("ws/latin"), b"\xe9").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, rig.at("ws/pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    fs::File::create(rig.at("ws/huge")).unwrap().set_len(FILE + 1).unwrap();
    for path in ["nul", "latin"] {
        assert!(matches!(rig.fs.read(path), Err(WorkspaceFsError::Binary(_))), "{path}");
        assert!(matches!(rig.fs.write(path, "x"), Err(WorkspaceFsError::Binary(_))), "{path}");
    }
    for path in ["pipe", "src", "."] {
        assert!(matches!(rig.fs.read(path), Err(WorkspaceFsError::NotAFile(_))), "{path}");
        assert!(matches!(rig.fs.write(path, "x"), Err(WorkspaceFsError::NotAFile(_))), "{path}");
    }
    assert!(matches!(rig.fs.read("huge"), Err(WorkspaceFsError::TooLarge { .. })));
    let much = "x".repeat(usize::try_from(FILE).unwrap() + 1);
    assert!(matches!(rig.fs.write("much", &much), Err(WorkspaceFsError::TooLarge { .. })));
}

#[test]
fn hostile_names_are_harmless() {
    let rig = rig();
    let long = "x".repeat(5000);
    for path in ["", "a\0b", &long] {
        assert!(matches!(rig.fs.read(path), Err(WorkspaceFsError::BadPath(_))), "{path:?}");
        assert!(matches!(rig.fs.write(path, "x"), Err(WorkspaceFsError::BadPath(_))), "{path:?}");
    }
    for path in ["-rf", "a b\nc", "$(id)", "~", "é😀", "...", "\\..\\x"] {
        assert_eq!(rig.fs.write(path, "x").unwrap(), None, "{path:?}");
        assert_eq!(rig.fs.read(path).unwrap(), "x", "{path:?}");
    }
}

/// Ends the other thread also when an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_link_that_appears_and_disappears_never_leads_out() {
    let rig = rig();
    fs::create_dir(rig.at("ws/door")).unwrap();
    fs::write(rig.at("ws/door/secret"), "inside").unwrap();
    symlink("../out", rig.at("ws/trap")).unwrap();
    fs::write(rig.at("out/victim"), "untouched").unwrap();
    let (stop, door, trap) = (AtomicBool::new(false), rig.at("ws/door"), rig.at("ws/trap"));
    let mut seen = [0; 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            // Now a directory of the workspace, now a link to outside.
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &door, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopOnDrop(&stop);
        for round in 0..400 {
            let read = rig.fs.read("door/secret");
            seen[usize::from(read.is_ok())] += 1;
            assert!(read.is_err() || read.is_ok_and(|text| text == "inside"));
            let _raced = rig.fs.write("door/victim", &round.to_string());
            if round % 50 == 0 {
                let query = SearchQuery { pattern: "secret words".into(), ..SearchQuery::default() };
                assert_eq!(rig.fs.search(&query).unwrap().matches, []);
            }
        }
    });
    println!("refused and read: {seen:?}");
    assert_eq!(fs::read_to_string(rig.at("out/victim")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(rig.at("out")).unwrap().count(), 2);
}

#[test]
fn links_are_not_followed_without_openat2() {
    let rig = rig();
    symlink("../out", rig.at("ws/door")).unwrap();
    symlink("../out/secret", rig.at("ws/link")).unwrap();
    let root = beneath::open_root(&rig.at("ws").canonicalize().unwrap()).unwrap();
    let open = |path: &str| {
        use std::os::fd::AsFd;
        beneath::walk_in(root.as_fd(), Path::new(path), OFlags::RDONLY | OFlags::CLOEXEC)
    };
    assert!(open("src/a.txt").is_ok() && open(".").is_ok());
    for path in ["door/secret", "link", "../out/secret", "/etc/passwd", "src/../../out/secret"] {
        assert!(open(path).is_err(), "{path}");
    }
}

#[test]
fn our_own_directories_are_not_written() {
    let rig = rig();
    fs::create_dir_all(rig.at("ws/config/profiles")).unwrap();
    fs::write(rig.at("ws/config/config.toml"), "").unwrap();
    symlink("config", rig.at("ws/link")).unwrap();
    symlink("config/config.toml", rig.at("ws/file")).unwrap();
    symlink(rig.at("ws"), rig.at("alias")).unwrap();
    // One of them is named through a link and does not exist yet.
    let own = [rig.at("ws/config"), rig.at("alias/state/swb")];
    let workspace = Workspace::new(&rig.at("ws"), Timestamp(0));
    let fs = WorkspaceFs::new(&workspace, &rig.at("ws"), 0o022, &[]).with_protected(&own);
    let protected = [
        "config/config.toml",
        "config/new",
        "config/profiles/x",
        "link/config.toml",
        "link/new",
        "file",
        "state/swb/x",
        "state/swb",
    ];
    for path in protected {
        let result = fs.write(path, "x");
        assert!(matches!(result, Err(WorkspaceFsError::OfOurs(_))), "{path}: {result:?}");
    }
    for path in ["config/config.toml", "link/config.toml", "file", "state/swb/x"] {
        assert!(matches!(fs.check_write(path), Err(WorkspaceFsError::OfOurs(_))), "{path}");
    }
    fs.write("state/other", "x").unwrap();
    fs.write("configuration", "x").unwrap();
    fs.read("config/config.toml").unwrap();
}

#[test]
fn lists_leave_out_what_git_does() {
    let rig = rig();
    fs::write(rig.at("ws/.gitignore"), "target/\n*.log\n").unwrap();
    for path in ["target/x", ".git/config", "src/b.rs", "src/deep/c.rs", "src/d.log"] {
        fs::create_dir_all(rig.at("ws").join(path).parent().unwrap()).unwrap();
        fs::write(rig.at("ws").join(path), "needle").unwrap();
    }
    symlink("/etc", rig.at("ws/src/etc")).unwrap();
    let list = |path: &str, glob: Option<&str>, depth| {
        let query = ListQuery { path: path.into(), glob: glob.map(Into::into), depth };
        let listing = rig.fs.list(&query).unwrap();
        listing.entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list("", None, None), ".gitignore src src/a.txt src/b.rs src/deep src/deep/c.rs src/etc");
    assert_eq!(list("", None, Some(1)), ".gitignore src");
    assert_eq!(list("src", None, Some(1)), "src/a.txt src/b.rs src/deep src/etc");
    assert_eq!(list("", Some("*.rs"), None), "src/b.rs src/deep/c.rs");
    assert_eq!(list("src", Some("deep/*.rs"), None), "src/deep/c.rs");
    assert_eq!(list("target", None, None), "target/x", "asked for by name");
    assert!(matches!(
        rig.fs.list(&ListQuery { path: "src/b.rs".into(), ..ListQuery::default() }),
        Err(WorkspaceFsError::NotADirectory(_))
    ));
    let context = ListQuery { path: rig.absolute("ctx"), ..ListQuery::default() };
    assert_eq!(rig.fs.list(&context).unwrap().entries[0].path, rig.absolute("ctx/notes"));
}

fn listed(fs: &WorkspaceFs, path: &str) -> String {
    let listing = fs.list(&ListQuery { path: path.into(), ..ListQuery::default() }).unwrap();
    listing.entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>().join(" ")
}

#[test]
fn ignore_rules_apply_below_their_directory() {
    let rig = rig();
    for path in ["src/x.o", "src/keep.o", "src/in/y.o", "src/in/z.tmp", "z.tmp", "b/in/build", "mine"] {
        fs::create_dir_all(rig.at("ws").join(path).parent().unwrap()).unwrap();
        fs::write(rig.at("ws").join(path), "").unwrap();
    }
    fs::create_dir_all(rig.at("ws/.git/info")).unwrap();
    fs::write(rig.at("ws/.git/info/exclude"), "/mine\n").unwrap();
    fs::write(rig.at("ws/.gitignore"), "# objects\n*.o\n[\n!keep.o\n/b/in/\n").unwrap();
    fs::write(rig.at("ws/src/.ignore"), "*.tmp\n").unwrap();
    let all = ".gitignore b src src/.ignore src/a.txt src/in src/keep.o z.tmp";
    assert_eq!(listed(&rig.fs, ""), all);
    assert_eq!(listed(&rig.fs, "b/in"), "b/in/build", "asked for by name");
    symlink(rig.at("ws"), rig.at("alias")).unwrap();
    let alias =
        WorkspaceFs::new(&Workspace::new(&rig.at("alias"), Timestamp(0)), &rig.at("alias"), 0o022, &[]);
    assert_eq!(listed(&alias, ""), all);
    assert_eq!(listed(&alias, "b/in"), "b/in/build");
}

#[test]
fn hostile_ignore_files_are_harmless() {
    let rig = rig();
    let pipe = |path: PathBuf| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    };
    symlink("/dev/zero", rig.at("ws/.gitignore")).unwrap();
    pipe(rig.at("ws/.ignore"));
    fs::create_dir_all(rig.at("ws/.git/info")).unwrap();
    pipe(rig.at("ws/.git/info/exclude"));
    fs::write(rig.at("out/rules"), "a.txt\n").unwrap();
    symlink(rig.at("out/rules"), rig.at("ws/src/.gitignore")).unwrap();
    fs::create_dir(rig.at("ws/big")).unwrap();
    fs::write(rig.at("ws/big/.gitignore"), "x\n".repeat(1 << 20)).unwrap();
    fs::write(rig.at("ws/big/x"), "").unwrap();
    let expected = ".gitignore .ignore big big/.gitignore big/x src src/.gitignore src/a.txt";
    assert_eq!(listed(&rig.fs, ""), expected);
}

#[test]
fn the_size_of_active_ignore_rules_is_limited() {
    let rig = rig();
    let dirs = ["ws/1", "ws/1/2", "ws/1/2/3", "ws/1/2/3/4", "ws/1/2/3/4/5"];
    for dir in dirs {
        fs::create_dir(rig.at(dir)).unwrap();
    }
    fs::write(rig.at(dirs[4]).join("left"), "").unwrap();
    let long = "# comment\n".repeat(6200);
    fs::write(rig.at(dirs[4]).join(".gitignore"), format!("left\n{long}")).unwrap();
    assert!(!listed(&rig.fs, "").contains("left"), "it is not too long by itself");
    for dir in &dirs[..4] {
        fs::write(rig.at(dir).join(".gitignore"), &long).unwrap();
    }
    assert!(listed(&rig.fs, "").contains("1/2/3/4/5/left"), "but there is no room for it beside the others");
}

#[test]
fn lists_and_search_results_are_limited() {
    let rig = rig();
    fs::create_dir(rig.at("ws/many")).unwrap();
    for n in 0..ENTRIES {
        fs::write(rig.at("ws/many").join(n.to_string()), "").unwrap();
    }
    let list = |path: &str| {
        let listing = rig.fs.list(&ListQuery { path: path.into(), ..ListQuery::default() }).unwrap();
        (listing.entries.len(), listing.truncated)
    };
    assert_eq!((list("many"), list("")), ((ENTRIES, false), (ENTRIES, true)));
    fs::write(rig.at("ws/src/lines"), "line\n".repeat(MATCHES)).unwrap();
    let search = |path: &str, pattern: &str| {
        let query = SearchQuery { path: path.into(), pattern: pattern.into(), ..SearchQuery::default() };
        let found = rig.fs.search(&query).unwrap();
        (found.matches.len(), found.truncated)
    };
    for path in ["src", "src/lines"] {
        assert_eq!(search(path, "line"), (MATCHES, false), "{path}");
    }
    fs::write(rig.at("ws/src/lines"), "line\n".repeat(MATCHES + 1)).unwrap();
    for path in ["src", "src/lines"] {
        assert_eq!(search(path, "line"), (MATCHES, true), "{path}");
    }
}

#[test]
fn search_finds_lines_in_text_files_only() {
    let rig = rig();
    fs::write(rig.at("ws/.gitignore"), "ignored\n").unwrap();
    fs::write(rig.at("ws/ignored"), "needle").unwrap();
    fs::write(rig.at("ws/binary"), b"needle\0").unwrap();
    fs::write(rig.at("ws/src/b.rs"), "hay\n  Needle (x)\n").unwrap();
    symlink(rig.at("out/secret"), rig.at("ws/link")).unwrap();
    let query = SearchQuery { pattern: "needle".into(), ignore_case: true, ..SearchQuery::default() };
    let hit = Match { path: "src/b.rs".into(), line: 2, text: "  Needle (x)".into() };
    assert_eq!(
        rig.fs.search(&query).unwrap(),
        SearchMatches { matches: vec![hit.clone()], truncated: false }
    );
    let file = SearchQuery { path: "src/b.rs".into(), pattern: "(x".into(), literal: true, ..query.clone() };
    assert_eq!(rig.fs.search(&file).unwrap().matches, [hit]);
    let secret = SearchQuery { pattern: "secret".into(), ..SearchQuery::default() };
    assert_eq!(rig.fs.search(&secret).unwrap().matches, []);
    let other = SearchQuery { glob: Some("*.txt".into()), ..query.clone() };
    assert_eq!(rig.fs.search(&other).unwrap().matches, []);
    fs::write(rig.at("ws/src/b.rs"), "é".repeat(1000)).unwrap();
    let long = SearchQuery { pattern: "éé".into(), ..SearchQuery::default() };
    assert_eq!(rig.fs.search(&long).unwrap().matches[0].text, "é".repeat(400));
    for bad in ["(", "(?:a{1000}){1000}"] {
        let bad = SearchQuery { pattern: bad.into(), ..SearchQuery::default() };
        assert!(matches!(rig.fs.search(&bad), Err(WorkspaceFsError::BadPattern(_))));
    }
}
