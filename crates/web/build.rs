//! Builds the page with npm and embeds its files, compressed. Without Node the server has no page, and shows that.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let source = Path::new("../../web");
    println!("cargo:rerun-if-env-changed=SWB_NO_PAGE");
    for entry in
        ["index.html", "package.json", "package-lock.json", "public", "scripts", "src", "vite.config.ts"]
    {
        let path = source.join(entry);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    let dist = out.join("page");
    let built = match build_page(source, &dist) {
        Ok(built) => built,
        Err(why) => {
            println!("cargo:warning=the web page is left out: {why}");
            false
        }
    };
    let mut files = Vec::new();
    if built {
        list(&dist, &mut files);
        files.sort();
    }
    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for file in &files {
        entry(&mut table, &out, &dist, file);
    }
    table.push_str("];\n");
    fs::write(out.join("assets.rs"), table).expect("OUT_DIR can be written");
}

/// Runs npm; `false` if there is no page to build.
fn build_page(source: &Path, dist: &Path) -> Result<bool, String> {
    if !source.join("package.json").exists() || std::env::var_os("SWB_NO_PAGE").is_some() {
        return Ok(false);
    }
    let installed = source.join("node_modules/.package-lock.json");
    if is_older(&installed, &source.join("package-lock.json")) {
        npm(source, dist, &["ci", "--no-audit", "--no-fund"])?;
    }
    npm(source, dist, &["run", "build"])?;
    Ok(true)
}

fn npm(dir: &Path, dist: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("npm").args(arguments).env("SWB_PAGE_DIR", dist).current_dir(dir).output();
    let output = output.map_err(|error| format!("cannot run npm: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(8)..].join(" | ");
    Err(format!("npm {} failed: {last}", arguments.join(" ")))
}

/// Whether `file` is missing or older than `other`.
fn is_older(file: &Path, other: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    match (changed(file), changed(other)) {
        (Ok(file), Ok(other)) => file < other,
        _ => true,
    }
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).expect("vite has written the directory");
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}

/// Writes the table's entry for a file, and its compressed forms beside it.
fn entry(table: &mut String, out: &Path, dist: &Path, file: &Path) {
    let plain = fs::read(file).expect("vite has written the file");
    let path = file.strip_prefix(dist).expect("the file is below").to_string_lossy().into_owned();
    let packed = out.join("packed").join(&path);
    fs::create_dir_all(packed.parent().expect("it has a parent")).expect("OUT_DIR can be written");
    let store = |name: &str, bytes: Vec<u8>| {
        let target = PathBuf::from(format!("{}.{name}", packed.display()));
        fs::write(&target, bytes).expect("OUT_DIR can be written");
        format!("include_bytes!({target:?})")
    };
    let packed_size = gzip(&plain).len();
    // Not worth unpacking if it saves next to nothing.
    let content = if packed_size + packed_size / 8 >= plain.len() {
        format!("Content::Plain(include_bytes!({file:?}))")
    } else {
        let (brotli, gzip) = (store("br", brotli(&plain)), store("gz", gzip(&plain)));
        format!("Content::Packed {{ brotli: {brotli}, gzip: {gzip} }}")
    };
    let (kind, immutable) = (kind(&path), path.starts_with("assets/"));
    writeln!(
        table,
        "    Asset {{ path: {path:?}, kind: {kind:?}, immutable: {immutable}, content: {content} }},"
    )
    .expect("writing to a string cannot fail");
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, 11, 22);
    writer.write_all(bytes).expect("writing to memory cannot fail");
    writer.into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(bytes).expect("writing to memory cannot fail");
    writer.finish().expect("writing to memory cannot fail")
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}
