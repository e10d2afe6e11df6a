//! A terminal's screen as a value: bytes of a program go in, and the screen comes out as cells, as text, as
//! data, as a picture, or as bytes that bring another terminal into the same state.
//!
//! Pure: no I/O, no clock, no environment. The way of a byte: `grammar` finds text and sequences
//! at any split, `parser` characters and controls in the text; `control`, `osc` and `reply` say what they mean; `terminal` and `buffer` do it,
//! on the grid of `alacritty_terminal`; `snapshot` turns the result back into bytes. `skip` finds the bytes that can
//! be spared all this, `keys` knows the way back, from keys to what a program reads, and `input` what a terminal sends.
//!
//! ```
//! use swb_types::Size;
//! use swb_vt::{Options, Screen};
//!
//! let mut screen = Screen::new(Size::DEFAULT, Options::default());
//! screen.feed(b"\x1b[1mhello\x1b[m world");
//! assert_eq!(screen.text(), "hello world");
//!
//! let mut copy = Screen::new(screen.size(), Options::default());
//! copy.feed(&screen.snapshot());
//! assert_eq!(copy.state(), screen.state());
//! ```

mod buffer;
mod cell;
mod control;
mod csi;
mod data;
mod emoji;
mod event;
mod filter;
mod grammar;
mod input;
mod keys;
pub mod limits;
mod link;
mod modes;
mod osc;
mod palette;
mod parser;
#[cfg(feature = "png")]
mod png;
mod printable;
mod query;
mod reflow;
mod reply;
mod report;
mod run;
mod screen;
mod scrollback;
mod sgr;
mod skip;
mod snapshot;
mod state;
mod svg;
mod terminal;
mod view;
mod width;

pub use cell::{Color, Hyperlink, Underline};
pub use csi::Csi;
pub use data::{Contents, Cursor, CursorShape, Modes, Run, ScreenLine, Style};
pub use event::{Mark, Progress, ScreenEvent};
pub use filter::QueryFilter;
pub use grammar::{Sequence, Token, Tokenizer};
pub use input::{Input, InputParser, KeyPress};
pub use keys::{Key, KeyCode};
pub use palette::Rgb;
#[cfg(feature = "png")]
pub use png::{PngOptions, needs_font};
pub use printable::{ColourFilter, acts, printable, printable_json, printable_lines};
pub use report::{has_keys, without_replies};
pub use screen::{Options, RESET, Screen};
pub use state::ScreenState;
pub use svg::SvgPieces;
pub use view::View;
