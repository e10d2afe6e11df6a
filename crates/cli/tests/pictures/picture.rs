//! Keeps screens as pictures.

use std::path::PathBuf;
use swb_testkit::Terminal;

/// Columns and rows of the terminals: an old terminal, a window, and a window on the whole of a large display.
pub(crate) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Draws what a terminal shows; writes it to the directory named by `$SWB_PICTURES`, if there is one.
pub(crate) fn keep(name: &str, terminal: &Terminal) {
    let screen = terminal.screen();
    let png = screen.to_png().unwrap();
    if let Some(directory) = std::env::var_os("SWB_PICTURES") {
        let size = screen.size();
        let file = PathBuf::from(directory).join(format!("{name}-{}x{}.png", size.cols(), size.rows()));
        std::fs::write(file, png).unwrap();
    }
}
