//! An installed font for characters that the built-in one lacks, for pictures.

use crate::limits;
use crate::regular_file;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Beginnings of the file names of fonts with many scripts, the best first.
const KNOWN: [&str; 12] = [
    "NotoSansMonoCJK",
    "NotoSansCJK",
    "SourceHanMono",
    "SourceHanSans",
    "wqy-microhei",
    "wqy-zenhei",
    "DroidSansFallback",
    "IPAGothic",
    "ipag",
    "NanumGothic",
    "unifont",
    "Symbola",
];

/// Where fonts are installed, below the root and below the home directory.
const PLACES: [&str; 3] = ["/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/texmf/fonts/opentype"];
const OWN_PLACES: [&str; 2] = [".local/share/fonts", ".fonts"];

/// The best of the known fonts that are installed.
pub(crate) fn further(home: &Path) -> Option<Vec<u8>> {
    let own = OWN_PLACES.iter().map(|place| home.join(place));
    let files = files(own.chain(PLACES.iter().map(PathBuf::from)).collect());
    let file = files.iter().filter_map(|file| Some((rank(file)?, file))).min()?.1;
    regular_file::read(file, limits::FONT).ok()
}

/// Where a file stands among the known fonts; regular weights come first.
fn rank(file: &Path) -> Option<(usize, bool)> {
    let name = file.file_name()?.to_str()?;
    let is_font = ["ttf", "ttc", "otf", "otc"].iter().any(|kind| name.ends_with(&format!(".{kind}")));
    let known = KNOWN.iter().position(|known| name.starts_with(known)).filter(|_| is_font)?;
    let other_weight =
        ["Bold", "Light", "Thin", "Black", "Medium"].iter().any(|weight| name.contains(weight));
    Some((known, other_weight))
}

/// The files below these directories.
fn files(mut directories: Vec<PathBuf>) -> BTreeSet<PathBuf> {
    let (mut files, mut searched) = (BTreeSet::new(), 0);
    while let Some(directory) = directories.pop().filter(|_| searched < limits::FONT_DIRECTORIES) {
        searched += 1;
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(_) => drop(files.insert(entry.path())),
                Err(_) => {}
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_known_font_is_chosen() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".fonts/deep");
        std::fs::create_dir_all(&place).unwrap();
        for name in
            ["unifont.ttf", "NotoSansCJK-Bold.ttc", "NotoSansCJK-Regular.ttc", "NotoSansCJK.txt", "Other.ttf"]
        {
            std::fs::write(place.join(name), name).unwrap();
        }
        let found = files(vec![dir.path().to_owned()]);
        let best = found.iter().filter_map(|file| Some((rank(file)?, file))).min().unwrap().1;
        assert!(best.ends_with("NotoSansCJK-Regular.ttc"), "{best:?}");
        assert!(files(vec![dir.path().join("missing")]).is_empty());
    }
}
