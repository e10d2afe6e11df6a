//! Every bound of the terminal interface, with its unit and reason.

use std::time::Duration;

/// Bytes of a message: what fits into a line of the protocol with room to spare.
pub(crate) const MESSAGE: usize = 4 << 20;
/// Messages that are remembered: a long day of prompts.
pub(crate) const REMEMBERED: usize = 200;
/// How long an Escape may be the beginning of another key: terminals send a sequence in one piece, and 50 ms
/// are hardly noticed.
pub(crate) const ESCAPE: Duration = Duration::from_millis(50);
/// Bytes of one paste; the rest of it is left out.
pub(crate) const PASTE: usize = 1 << 20;
/// How deep emphasis may stand in emphasis: agents do not nest it further, and more would only cost time.
pub(crate) const EMPHASIS_DEPTH: usize = 6;
/// Bytes of a line that are searched for emphasis: finding the ends in very long lines takes too long.
pub(crate) const EMPHASIS_LINE: usize = 4 * 1024;
/// Bytes of one line; longer ones are cut, because a person would not read them.
pub(crate) const LINE: usize = 64 * 1024;
/// Approvals and questions that wait at the same time; an agent that asks more gets no answer.
pub(crate) const WAITING: usize = 64;
/// Lines of an approval that are shown. The rest cannot be approved unseen: a line shows that there is more.
pub(crate) const ASK_LINES: usize = 400;
/// Tools shown at work at the same time: more would push the answer off the screen.
pub(crate) const TOOLS: usize = 8;
/// Tools that may be at work at the same time; of more, only the end is shown.
pub(crate) const OPEN_TOOLS: usize = 256;
/// Bytes of a thought, of a tool's output and of an answer that are kept to be shown again.
pub(crate) const KEPT: usize = 256 * 1024;
/// Lines of a tool's output that are shown on request.
pub(crate) const TOOL_LINES: usize = 500;
/// How long a diff may be computed; it is coarser then. An approval is shown at once.
pub(crate) const DIFF_TIME: Duration = Duration::from_millis(100);
/// Columns below which no column of a table is shrunk: less cannot be read.
pub(crate) const TABLE_COLUMN: usize = 4;
/// Columns of a table. More do not fit any terminal, and are left out.
pub(crate) const TABLE_COLUMNS: usize = 64;
/// Rows of a table that are kept until it is complete; more begin another one, so that a table without end is shown.
pub(crate) const TABLE_ROWS: usize = 500;
/// Bytes of these rows: all of them are drawn again with each piece that arrives.
pub(crate) const TABLE_BYTES: usize = 256 * 1024;
/// Bytes of a line of code that is highlighted: longer ones are data, and would take long.
pub(crate) const CODE_LINE: usize = 4 * 1024;
/// Bytes of the filter of a list: more than fits on its line.
pub(crate) const FILTER: usize = 200;
/// Lines at the end of a screen among which a question is searched.
pub(crate) const DIALOG_LINES: usize = 12;
