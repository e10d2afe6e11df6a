//! Every bound of the model, with its reason. Output of a child is hostile until proven otherwise.

/// Columns a model can have. A 4K monitor with a five-pixel font shows 768.
pub const MAX_COLS: u16 = 1024;
/// Rows a model can have, for the same reason.
pub const MAX_ROWS: u16 = 512;
/// Columns a model has at least: a wide character needs two.
pub const MIN_COLS: u16 = 2;
/// Cells of scrollback (a byte each in plain text, some tens in the most colourful one): 2000 lines of the widest screen.
pub const SCROLLBACK_CELLS: usize = 2000 * MAX_COLS as usize;
/// Scrollback of a session without a configured one, in lines.
pub const DEFAULT_SCROLLBACK: usize = 2000;
/// Bytes of a chunk of the scrollback: small beside the scrollback of an ordinary screen, large beside a line.
pub(crate) const CHUNK_BYTES: usize = 8 * 1024;
/// Lines of a chunk, so that empty ones, which take no bytes, end it as well.
pub(crate) const CHUNK_LINES: usize = 1024;
/// Characters that are shown at once. Runs of text between two changes of style are seldom longer.
pub(crate) const PRINTED_AT_ONCE: usize = 64;
/// Links among which a chunk looks for one it has already.
pub(crate) const CHUNK_LINKS: usize = 8;

/// Bytes of a key's sequence. A key with every optional field of the kitty protocol has fewer.
pub const KEY_BYTES: usize = 64;

/// Bytes of a control sequence. The longest real ones, colours for everything, stay below 100.
pub(crate) const CSI_BYTES: usize = 512;
/// Parameters of a control sequence; the rest is ignored, as in xterm.
pub(crate) const CSI_PARAMS: usize = 32;
/// Bytes of a string sequence (OSC, DCS, APC…). Links may have 2083, kitty's image chunks 4096; what
/// is longer is of no interest to a screen.
pub(crate) const STRING_BYTES: usize = 8 * 1024;
/// Bytes of a title, a directory or a status that are kept.
pub(crate) const TEXT_BYTES: usize = 1024;
/// Titles on the stack, a little more than xterm's 10.
pub(crate) const TITLE_STACK: usize = 16;
/// Flags on each of the two keyboard stacks; kitty keeps 8.
pub(crate) const KEYBOARD_STACK: usize = 16;
/// Zero-width characters on one cell. Families of emoji need 5, vowel marks 3.
pub(crate) const ZERO_WIDTH: usize = 12;
/// Bytes of all distinct links that are on screen or in the scrollback; links beyond are shown as text.
pub(crate) const LINK_BYTES: usize = 512 * 1024;
/// Distinct links, so that many short ones cost no more.
pub(crate) const LINKS: usize = 4096;
/// Modes unknown here that are remembered by number.
pub(crate) const OTHER_MODES: usize = 32;
/// Events that wait to be taken; later ones are counted only.
pub(crate) const EVENTS: usize = 256;
/// Bytes of replies that wait to be taken; a program with more queries before that gets fewer replies.
pub(crate) const REPLY_BYTES: usize = 4096;
/// Controls within one sequence whose place is remembered; later ones are passed on before it.
pub(crate) const HELD_CONTROLS: usize = 64;
/// Bytes from which on it pays to search for output that has scrolled out of reach. Fewer hardly hold a screen and its
/// scrollback.
pub(crate) const SKIP_FROM: usize = 64 * 1024;
/// Different changes of attributes that are distinguished; programs have a handful, and searching for more costs
/// more than applying all of them.
pub(crate) const DISTINCT_LOOKS: usize = 16;
/// Glyphs that are kept; a screen full of different characters has no more to gain.
#[cfg(feature = "png")]
pub(crate) const GLYPHS: usize = 4096;
/// Bytes of the address of a hyperlink, as other terminals have it; a longer one is no link.
pub const LINK_URI: usize = 2083;
/// Bytes of the id of a hyperlink, as other terminals have it.
pub const LINK_ID: usize = 250;
