//! Every limit of the detector, with its reason. Output of a child is hostile until proven otherwise.

use std::time::Duration;

/// Bytes of one turn that are kept; the rest is counted (CR-8 requires this much, CP-28 allows four times it).
pub const TURN_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of an answer that is read while it grows: rendering them takes some milliseconds.
pub const LOOK_BYTES: usize = 512 * 1024;
/// Bytes of a turn's plain text.
pub const TEXT_BYTES: usize = 1024 * 1024;
/// Lines collected of a repainting agent's view while they scroll by: as many as the text can have.
pub const COLLECTED_LINES: usize = 20_000;
/// Bytes of the last, unfinished line. Prompts are short; anything longer is output.
pub const LINE_BYTES: usize = 16 * 1024;
/// Bytes of a title, a notification or a status that are read.
pub const STRING_BYTES: usize = 1024;
/// Bytes of typed text that are kept to recognise their echo.
pub const TYPED_BYTES: usize = 64 * 1024;
/// Events in the queue; a caller that never takes them loses the oldest.
pub const EVENTS: usize = 1024;
/// Resizes within one turn that the rendering of its text follows.
pub const RESIZES: usize = 64;
/// Lines submitted within one turn whose echo is left out of its text: more than is pasted at once.
pub(crate) const LATER_LINES: usize = 1024;
/// Bytes at the end of a line that are searched for the prompt: with all its colours it has some hundred.
pub(crate) const PROMPT_BYTES: usize = 2048;
/// Bytes at the end of the output in which a mark before the prompt is searched: it has a row of blanks, and prompts
/// have several lines.
pub(crate) const MARK_BYTES: u64 = 8 * 1024;
/// Dialogs of one turn that are remembered.
pub const DIALOGS: usize = 256;
/// Bytes of a profile file, far more than any has.
pub const PROFILE_BYTES: usize = 256 * 1024;
/// Patterns in one list of a profile.
pub const PATTERNS: usize = 64;
/// Memory of one compiled pattern, so that a user's file cannot eat it all.
pub const REGEX_BYTES: usize = 10 * 1024 * 1024;

/// Silence after which an unfinished line may be a prompt (CT-8: 100 ms, at most 500).
pub const PROMPT_QUIET: Duration = Duration::from_millis(100);
/// Silence after which a shell or REPL without marks of its own is at its prompt: an answer may show the same text and
/// pause. Users wait about a second; if they do not, the key they press counts as well.
pub const REPL_QUIET: Duration = Duration::from_millis(950);
/// A pause that ends a frame, where nothing else does: less than the 16 ms between two frames.
pub const PAUSE: Duration = Duration::from_millis(8);
/// Silence after which an agent's own report is trusted. The last frame comes up to 220 ms after it in the recordings.
pub const REPORT_QUIET: Duration = Duration::from_millis(400);
/// Silence after which the screen of an agent is trusted without other evidence, unless its profile sets another.
/// Users wait about a second before they continue typing; if they do not, that is detected.
pub const SCREEN_QUIET: Duration = Duration::from_millis(850);
/// How long a line on the screen of an agent must be unchanged before it is sent.
pub const STEADY: Duration = Duration::from_millis(500);
/// How long a screen must look ready without other evidence that the work is over.
pub const LINGER: Duration = Duration::from_millis(3000);
/// How long a screen must look ready after one of the agent's own commands: work shows its mark much sooner, and the
/// state is to be right within two seconds.
pub const COMMAND_QUIET: Duration = Duration::from_millis(1500);
/// How long a ready screen may continue repainting before it counts as quiet: users type ahead.
pub const HELD: Duration = Duration::from_millis(1500);
/// How long a busy mark counts that does not move: marks of running work are animated.
pub const STILL_BUSY: Duration = Duration::from_secs(20);
/// How long a program's report that it works counts without any output.
pub const REPORT: Duration = Duration::from_secs(600);
/// How long a lone ESC may be the start of a sequence.
pub const ESCAPE: Duration = Duration::from_millis(50);
/// Looks at the screen allowed in a burst, and how many are added per second: a program that does
/// nothing but repaint costs no more than this.
pub const LOOKS: u32 = 1000;
/// See [`LOOKS`].
pub const LOOKS_PER_SECOND: u32 = 200;
/// After this long without an answer, a submission does not count as one.
pub const ABANDON: Duration = Duration::from_secs(30);
/// How long after a resize output may still be for the former size.
pub(crate) const REDRAWN: Duration = Duration::from_millis(30);
/// Pages back from the last one in which lines are known again.
pub(crate) const PAGES_BACK: usize = 4;
/// Letters and digits by which lines that were wrapped anew are known again: fewer are found anywhere.
pub(crate) const WITNESS_CHARS: usize = 8;
/// Rows that have to move together where most rows stay: fewer may be the same by chance.
pub(crate) const WITNESS_ROWS: usize = 3;
/// Blank rows that a full view may have above the input box: codex has two.
pub(crate) const MARGIN_ROWS: usize = 2;
/// How long a frame may take to be drawn; a program that never ends it is read anyway.
pub const DRAWING: Duration = Duration::from_secs(1);
/// Blank lines in a row that are kept: code has two, and a program that clears the screen leaves many.
pub(crate) const BLANK_LINES: usize = 4;
/// Lines of scrollback of the screen on which the output of a turn is rendered: more than a turn's text may
/// have.
pub(crate) const SCRATCH_LINES: usize = 20_000;
/// Silence that follows a recording: as long as evidence needs to be believed.
pub(crate) const RECORDING_END: Duration = Duration::from_secs(5);
/// Rows above the options that may belong to a dialog: more than an edit that is shown in full has on most
/// screens.
pub(crate) const DIALOG_ROWS: usize = 60;
/// Rows a long option may take: on a narrow screen, three and one to spare.
pub(crate) const OPTION_ROWS: usize = 4;
/// Characters of a dialog's text that are kept: a full screen of them.
pub(crate) const DIALOG_TEXT: usize = 8000;
/// Options of a dialog: more than any agent offers.
pub(crate) const OPTIONS: usize = 32;
/// Lines sent last that are searched for in an answer that was changed; it is rarely changed far above its
/// end.
pub(crate) const WITNESSES: usize = 64;
/// Rows above the input box that may hold the agent's marks: a spinner, a list of tasks, a tip.
pub(crate) const ROWS_ABOVE: usize = 12;
/// Rows below the input box: its lower edge, hints, a menu of commands. What stands higher is an echo that
/// resembles it.
pub(crate) const ROWS_BELOW: usize = 16;
/// Rows that text in an input box may take: agents show longer text as a mark.
pub(crate) const INPUT_ROWS: usize = 24;
/// Rows above a dialog's choices that are its question.
pub(crate) const QUESTION_ROWS: usize = 6;
/// Exchanges of a session file that may belong to one turn, besides the last: prompts submitted while the agent works.
pub(crate) const EXCHANGES: usize = 3;
/// Messages back from the last one of a session file in which a message is replaced: only an answer with tools is.
pub(crate) const MESSAGES_BACK: usize = 16;
/// Words that a screen may show besides the answer: a note of the agent; and the note that the answer was interrupted.
pub(crate) const SCREEN_WORDS: [usize; 2] = [3, 12];
/// Words that a screen with missing lines must have in common with a session file: fewer are found in any text.
pub(crate) const COMMON_WORDS: usize = 8;
/// Words at the end of an answer that must be on a screen with missing lines: several lines of prose.
pub(crate) const END_WORDS: usize = 40;
/// Characters of the evidence for a state: a row of a screen.
pub(crate) const EVIDENCE: usize = 200;
/// Letters and digits of a dialog by which it is recognised again: those of its question and options.
pub(crate) const DIALOG_IDENTITY: usize = 2000;
/// Rows of an agent's database that are read: a turn with a thousand uses of tools.
pub(crate) const STORE_ROWS: usize = 4096;
/// Bytes of those rows, and of one of them: what tools printed is in them.
pub(crate) const STORE_BYTES: usize = 4 * 1024 * 1024;
/// See [`STORE_BYTES`].
pub(crate) const STORE_ROW_BYTES: usize = STORE_BYTES / 4;
/// Pages of an agent's database that are read: those rows in the smallest pages that are in use, and the way to them.
pub(crate) const STORE_PAGES: usize = 16 * 1024;
/// Sessions in an agent's database that are read: those that were active during one turn.
pub(crate) const CONVERSATIONS: usize = 8;
/// Different emoji of an answer whose joiners are put back.
pub(crate) const JOINED: usize = 256;
