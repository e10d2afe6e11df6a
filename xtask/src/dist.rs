//! Packages: a Debian package, and a static binary. Both are in `target/dist` afterwards.

use crate::steps::{cargo, command, root, run};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of the Debian package, which is that of the program.
const PACKAGE: &str = "swb";

/// Builds the Debian package from the release build of this machine, or from the static binary, which suits any release
/// of Debian.
pub(crate) fn deb(is_static: bool) -> Result<()> {
    ensure!(succeeds("dpkg-deb", &["--version"]), "building a Debian package needs dpkg-deb (Debian: dpkg)");
    let program = if is_static {
        musl()?
    } else {
        cargo(&["build", "--release", "-p", "swb"])?;
        target().join("release/swb")
    };
    let stage = target().join("dist/deb");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    stage_files(&program, &stage)?;
    let (version, architecture) = (version()?, output("dpkg", &["--print-architecture"])?);
    let control = control(&version, &architecture, &fs::read(&program)?, size_in_kib(&stage)?);
    install(control.as_bytes(), &stage.join("DEBIAN/control"), 0o644)?;
    let sums = output_in(&stage, "sh", &["-c", "find usr -type f | LC_ALL=C sort | xargs md5sum"])?;
    install(format!("{sums}\n").as_bytes(), &stage.join("DEBIAN/md5sums"), 0o644)?;
    let package = target().join(format!("dist/{PACKAGE}_{version}_{architecture}.deb"));
    run(command("dpkg-deb", &["--root-owner-group", "--build"]).arg(&stage).arg(&package))?;
    println!("{}", package.display());
    Ok(())
}

/// Everything that the package installs.
fn stage_files(program: &Path, stage: &Path) -> Result<()> {
    let copy = |from: &str, to: &str| install(&fs::read(root().join(from))?, &stage.join(to), 0o644);
    install(&fs::read(program)?, &stage.join("usr/bin/swb"), 0o755)?;
    // The scripts call `swb` by name if it is the one in PATH, else by the path that it has on this machine.
    let bin = stage.join("usr/bin");
    let own = |args: &[&str]| {
        let text = output_of(Command::new(bin.join("swb")).args(args).env("PATH", &bin));
        text.map(|text| text + "\n")
    };
    for (shell, file) in [
        ("bash", "usr/share/bash-completion/completions/swb"),
        ("zsh", "usr/share/zsh/vendor-completions/_swb"),
        ("fish", "usr/share/fish/vendor_completions.d/swb.fish"),
    ] {
        let script = own(&["completions", shell])?;
        ensure!(
            !script.contains(&*bin.to_string_lossy()),
            "the completion for {shell} has a path of this machine"
        );
        install(script.as_bytes(), &stage.join(file), 0o644)?;
    }
    let manual = stage.join("usr/share/man/man1");
    own(&["man", "--dir", &manual.to_string_lossy()])?;
    for page in fs::read_dir(&manual)? {
        compress(&page?.path())?;
    }
    for unit in ["swb.socket", "swb.service", "swb-hotkey.service"] {
        copy(&format!("contrib/systemd/{unit}"), &format!("usr/lib/systemd/user/{unit}"))?;
    }
    copy("contrib/desktop/swb-hotkey.desktop", "usr/share/applications/swb-hotkey.desktop")?;
    copy("LICENSE", "usr/share/doc/swb/copyright")?;
    copy("README.md", "usr/share/doc/swb/README.md")?;
    // Messages and the README name these pages.
    for page in fs::read_dir(root().join("docs"))? {
        let name = page?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            copy(&format!("docs/{name}"), &format!("usr/share/doc/swb/docs/{name}"))?;
        }
    }
    copy("CHANGELOG.md", "usr/share/doc/swb/changelog")?;
    compress(&stage.join("usr/share/doc/swb/changelog"))
}

/// Writes a file with this mode, independent of the umask, in directories that every user can enter.
fn install(content: &[u8], file: &Path, mode: u32) -> Result<()> {
    let dir = file.parent().context("a file is in a directory")?;
    fs::create_dir_all(dir)?;
    fs::write(file, content).with_context(|| file.display().to_string())?;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(mode))?)
}

/// Compresses a file without its name and time: the same input gives the same package.
fn compress(file: &Path) -> Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o644))?;
    run(command("gzip", &["-9nf"]).arg(file))
}

fn control(version: &str, architecture: &str, program: &[u8], kib: u64) -> String {
    let mut depends = Vec::new();
    if let Some(glibc) = newest_glibc(program) {
        depends.push(format!("libc6 (>= {glibc})"));
    }
    if contains(program, b"libgcc_s.so.1") {
        depends.push("libgcc-s1".to_owned());
    }
    let depends = match depends.is_empty() {
        true => String::new(),
        false => format!("Depends: {}\n", depends.join(", ")),
    };
    format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {architecture}\nSection: utils\nPriority: optional\n\
         Maintainer: Switchboard <switchboard@localhost>\nInstalled-Size: {kib}\n{depends}\
         Suggests: git, tmux, libnotify-bin\n\
         Description: keeps the terminals of coding agents alive and lets any client attach\n \
         One daemon holds the terminals of coding agents and other programs, which keep\n \
         running when their window closes, the connection drops, or the daemon is replaced.\n \
         Attach from any terminal or browser, ask an agent from a script, and pass answers\n \
         from one agent to another.\n"
    )
}

/// The newest version of glibc that the program needs, as the names of its symbols say.
fn newest_glibc(program: &[u8]) -> Option<String> {
    let mark = b"GLIBC_2.";
    let starts = program.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
    let minors = starts.filter_map(|(at, _)| {
        let digits = program[at + mark.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    });
    minors.max().map(|minor| format!("2.{minor}"))
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

fn size_in_kib(dir: &Path) -> Result<u64> {
    let text = output("du", &["-sk", "--apparent-size", &dir.to_string_lossy()])?;
    let number = text.split_whitespace().next().context("du prints a number")?;
    Ok(number.parse()?)
}

/// Builds a static binary: with musl; where Rust's library for musl cannot be had, with the static glibc.
pub(crate) fn musl() -> Result<PathBuf> {
    let machine = std::env::consts::ARCH;
    let target = format!("{machine}-unknown-linux-musl");
    let version = version()?;
    let (built, name) = if has_target(&target) {
        ensure!(
            succeeds("musl-gcc", &["--version"]),
            "the libraries in C need musl-gcc; please install it (Debian: apt-get install musl-tools)"
        );
        run(&mut command("cargo", &["build", "--release", "-p", "swb", "--target", &target]))?;
        (self::target().join(&target).join("release/swb"), format!("swb-{version}-{machine}-linux-musl"))
    } else {
        println!(
            "note: no {target} for this toolchain; linking the static glibc instead, which cannot use NSS modules"
        );
        let target = format!("{machine}-unknown-linux-gnu");
        let mut build = command("cargo", &["build", "--release", "-p", "swb", "--target", &target]);
        run(build.env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
        (self::target().join(&target).join("release/swb"), format!("swb-{version}-{machine}-linux-static"))
    };
    let program = fs::read(&built).with_context(|| built.display().to_string())?;
    ensure!(is_static(&program), "{} needs a dynamic linker", built.display());
    let file = self::target().join("dist").join(name);
    install(&program, &file, 0o755)?;
    ensure!(output(&file.to_string_lossy(), &["--version"])?.starts_with("swb "), "the program does not run");
    println!("{}", file.display());
    Ok(file)
}

/// Whether Rust's library for a target is installed, or could be.
fn has_target(target: &str) -> bool {
    let library = output("rustc", &["--print", "target-libdir", "--target", target]);
    let is_there = || library.as_ref().is_ok_and(|dir| Path::new(dir).exists());
    is_there() || (succeeds("rustup", &["target", "add", target]) && is_there())
}

/// Whether an ELF program of 64 bits names no dynamic linker.
fn is_static(program: &[u8]) -> bool {
    /// Type of the program header that names it.
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let bytes = program.get(at..at + bytes)?.iter().rev();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let header = || -> Option<(usize, usize, usize)> {
        let at = usize::try_from(number(32, 8)?).ok()?;
        Some((at, usize::try_from(number(54, 2)?).ok()?, usize::try_from(number(56, 2)?).ok()?))
    };
    let Some((at, size, count)) = header().filter(|_| program.starts_with(b"\x7fELF\x02\x01")) else {
        return false;
    };
    (0..count).all(|index| number(at + index * size, 4).is_some_and(|kind| kind != PT_INTERP))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The version of the workspace.
fn version() -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let version =
        manifest.get("workspace").and_then(|workspace| workspace.get("package")?.get("version")?.as_str());
    Ok(version.context("Cargo.toml has a version")?.to_owned())
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn output(program: &str, args: &[&str]) -> Result<String> {
    output_in(&root(), program, args)
}

fn output_in(dir: &Path, program: &str, args: &[&str]) -> Result<String> {
    output_of(Command::new(program).args(args).current_dir(dir))
}

fn output_of(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_depends_on_what_the_program_needs() {
        let program = b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17\0libgcc_s.so.1\0";
        assert_eq!(newest_glibc(program).as_deref(), Some("2.34"));
        let text = control("1.2.3", "amd64", program, 42);
        assert!(text.contains("\nDepends: libc6 (>= 2.34), libgcc-s1\n"), "{text}");
        assert!(text.contains("Version: 1.2.3\nArchitecture: amd64\n"));
        assert!(!control("1", "amd64", b"static", 1).contains("Depends"));
        assert!(text.ends_with(".\n") && text.lines().all(|line| !line.is_empty()));
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(!is_static(&own), "tests are linked to glibc");
        assert!(!is_static(b"#!/bin/sh") && !is_static(b"\x7fELF\x02\x01"));
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64 + 56, 0);
        (elf[32], elf[54], elf[56], elf[64]) = (64, 56, 1, 1);
        assert!(is_static(&elf));
        elf[64] = 3;
        assert!(!is_static(&elf));
    }
}
