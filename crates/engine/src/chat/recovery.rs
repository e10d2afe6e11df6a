//! How conversations survive a crash of the daemon: a journal in shared memory, held by the keeper.
//!
//! Every piece of a message is appended at once, so the next daemon has all of them. When the journal has grown to a
//! multiple of its content, a thread of its own compacts it into new memory, and no conversation waits for that. The
//! keeper holds a complete journal at any time.

use super::backend::SubmittedPrompt;
use crate::journal::Journal;
use crate::keeper::Keeper;
use crate::limits;
use crate::optional_state::OptionalState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};
use swb_chat::{Message, Part, SavedConversation};
use swb_types::SessionName;

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalEntry {
    /// Everything but the messages.
    Head(Box<SavedConversation>, RecoverySettings),
    /// A complete message.
    Message(SessionName, Message),
    /// A message whose parts follow.
    Began(SessionName, Message),
    /// The prompt of that message was submitted in a terminal.
    Submitted(SessionName, SubmittedPrompt),
    /// A further part of that message.
    Part(SessionName, Box<Part>),
    /// All messages were removed.
    Cleared(SessionName),
    /// The conversation has ended.
    Gone(SessionName),
}

/// What the next daemon needs to know of a conversation besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecoverySettings {
    /// Interval of automatic saves in seconds.
    pub(super) auto_save: Option<u64>,
    /// Whether its name is its own, and not that of a session it is about.
    pub(super) reserved: bool,
}

/// A conversation that an earlier daemon left behind.
#[derive(Debug)]
pub(super) struct RecoveredChat {
    pub(super) saved: SavedConversation,
    pub(super) held: RecoverySettings,
    /// The answer that was being given.
    unfinished: Option<Message>,
    /// Where its prompt was submitted, if in a terminal.
    submitted: Option<SubmittedPrompt>,
}

impl RecoveredChat {
    /// Takes the answer that was being given. It can go on only if its prompt was submitted in a terminal.
    pub(super) fn take_unfinished(&mut self) -> Option<(Message, Option<SubmittedPrompt>)> {
        Some((self.unfinished.take()?, self.submitted.take()))
    }
}

/// The journal of all conversations, which the keeper holds too.
#[derive(Debug)]
pub(super) struct RecoveryJournal {
    keeper: Keeper,
    compacted: Option<CompactedJournal>,
}

impl RecoveryJournal {
    /// Continues the journal that an earlier daemon left, and returns the conversations in it.
    pub(super) fn new(keeper: Keeper, left: Option<OwnedFd>) -> (Self, Vec<RecoveredChat>) {
        let read = |memory| Journal::resume(memory, limits::CHAT_MEMORY).ok().map(|(_, text)| fold(&text));
        let adopted = left.and_then(|memory| keeper.adopt_state(OptionalState::Conversations, memory, read));
        let mut conversations = adopted.flatten().unwrap_or_default();
        let mut recovery = Self { keeper, compacted: None };
        shorten(&mut conversations, limits::CHAT_KEPT);
        match CompactedJournal::begin(&conversations, limits::CHAT_SLACK) {
            Ok((compacted, shared)) => {
                recovery.keeper.hold_chats(shared);
                recovery.compacted = Some(compacted);
            }
            Err(error) => recovery.give_up(&error),
        }
        (recovery, conversations.into_values().collect())
    }

    /// Appends entries.
    pub(super) fn note(&mut self, entries: &[JournalEntry]) {
        let Some(compacted) = &mut self.compacted else { return };
        match compacted.add(&text_of(entries)) {
            Ok(Some(shared)) => self.keeper.hold_chats(shared),
            Ok(None) => {}
            Err(error) => self.give_up(&error),
        }
    }

    /// Drops the journal, for an orderly stop.
    pub(super) fn forget(&mut self) {
        self.compacted = None;
        self.keeper.drop_chats();
    }

    fn give_up(&mut self, error: &io::Error) {
        tracing::warn!(%error, "conversations will not survive a crash of the daemon");
        self.forget();
    }
}

/// A journal that is rewritten when it has grown to a multiple of its content.
#[derive(Debug)]
struct CompactedJournal {
    journal: Journal,
    /// Its length after the last compaction, and by how much more than twice that it may grow.
    compact: u64,
    slack: u64,
    rewriting: Option<Rewriting>,
}

/// A compaction that runs.
#[derive(Debug)]
struct Rewriting {
    thread: JoinHandle<io::Result<Journal>>,
    /// The end of what it covers; later entries are appended when it is done.
    end: u64,
}

impl CompactedJournal {
    /// A journal of these conversations, and its memory for the keeper.
    fn begin(
        conversations: &BTreeMap<SessionName, RecoveredChat>,
        slack: u64,
    ) -> io::Result<(Self, OwnedFd)> {
        let journal = written(conversations)?;
        let shared = journal.share()?;
        Ok((Self { compact: journal.len(), journal, slack, rewriting: None }, shared))
    }

    /// Appends whole lines. Returns the new memory if a compaction has completed.
    fn add(&mut self, lines: &str) -> io::Result<Option<OwnedFd>> {
        self.journal.append(lines)?;
        if self.journal.len() > limits::CHAT_MEMORY as u64 {
            return Err(io::Error::other("the journal of conversations is too long"));
        }
        match self.rewriting.take_if(|rewriting| rewriting.thread.is_finished()) {
            Some(done) => self.adopt(done).map(Some),
            None if self.rewriting.is_none() && self.journal.len() > self.compact * 2 + self.slack => {
                self.rewriting = Some(self.rewrite()?);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    fn rewrite(&self) -> io::Result<Rewriting> {
        let journal = self.journal.as_it_is()?;
        let end = journal.len();
        let rewrite = move || {
            let mut conversations = fold(&journal.read(0)?);
            shorten(&mut conversations, limits::CHAT_KEPT);
            written(&conversations)
        };
        let thread = thread::Builder::new().name("chat-journal".into()).spawn(rewrite)?;
        Ok(Rewriting { thread, end })
    }

    fn adopt(&mut self, done: Rewriting) -> io::Result<OwnedFd> {
        let panicked = |_| io::Error::other("the compaction of the journal failed");
        let mut journal = done.thread.join().map_err(panicked)??;
        self.compact = journal.len();
        journal.append(&self.journal.read(done.end)?)?;
        self.journal = journal;
        self.journal.share()
    }
}

fn written(conversations: &BTreeMap<SessionName, RecoveredChat>) -> io::Result<Journal> {
    let mut journal = Journal::begin("swb-chats")?;
    for left in conversations.values() {
        journal.append(&text_of(&entries(left)))?;
    }
    Ok(journal)
}

fn text_of(entries: &[JournalEntry]) -> String {
    let lines = entries.iter().filter_map(|entry| serde_json::to_string(entry).ok());
    lines.map(|line| line + "\n").collect()
}

fn fold(text: &str) -> BTreeMap<SessionName, RecoveredChat> {
    let mut all: BTreeMap<SessionName, RecoveredChat> = BTreeMap::new();
    for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match entry {
            JournalEntry::Head(mut saved, held) => match all.get_mut(&saved.name) {
                Some(left) => {
                    saved.messages = std::mem::take(&mut left.saved.messages);
                    (left.saved, left.held) = (*saved, held);
                }
                None => {
                    let left = RecoveredChat { saved: *saved, held, unfinished: None, submitted: None };
                    all.insert(left.saved.name.clone(), left);
                }
            },
            JournalEntry::Message(name, message) => {
                if let Some(left) = all.get_mut(&name) {
                    (left.unfinished, left.submitted) = (None, None);
                    left.saved.updated = left.saved.updated.max(message.at);
                    left.saved.messages.push(message);
                }
            }
            JournalEntry::Began(name, message) => {
                if let Some(left) = all.get_mut(&name) {
                    (left.unfinished, left.submitted) = (Some(message), None);
                }
            }
            JournalEntry::Submitted(name, prompt) => {
                if let Some(left) = all.get_mut(&name) {
                    left.submitted = Some(prompt);
                }
            }
            JournalEntry::Part(name, part) => {
                if let Some(message) = all.get_mut(&name).and_then(|left| left.unfinished.as_mut()) {
                    message.add(*part);
                }
            }
            JournalEntry::Cleared(name) => {
                if let Some(left) = all.get_mut(&name) {
                    left.saved.messages.retain(|message| message.role == swb_chat::Author::System);
                }
            }
            JournalEntry::Gone(name) => {
                all.remove(&name);
            }
        }
    }
    all
}

/// Drops the oldest messages of the longest conversations until all of them have at most `most` bytes: the older half of
/// a conversation at a time, which is fast.
fn shorten(conversations: &mut BTreeMap<SessionName, RecoveredChat>, most: usize) {
    let size = |left: &RecoveredChat| left.saved.messages.iter().map(Message::size).sum::<usize>();
    let mut sizes: BTreeMap<SessionName, usize> =
        conversations.iter().map(|(name, left)| (name.clone(), size(left))).collect();
    while sizes.values().sum::<usize>() > most {
        let longest = sizes.iter().max_by_key(|(_, size)| **size).map(|(name, _)| name.clone());
        let Some((name, left)) = longest.and_then(|name| Some((name.clone(), conversations.get_mut(&name)?)))
        else {
            return;
        };
        let half = left.saved.messages.len().div_ceil(2);
        left.saved.messages.drain(..half);
        sizes.insert(name, size(left));
    }
}

fn entries(left: &RecoveredChat) -> Vec<JournalEntry> {
    let name = &left.saved.name;
    let mut entries = vec![JournalEntry::Head(Box::new(left.saved.without_messages()), left.held)];
    let messages = left.saved.messages.iter();
    entries.extend(messages.map(|message| JournalEntry::Message(name.clone(), message.clone())));
    entries.extend(left.unfinished.iter().map(|message| JournalEntry::Began(name.clone(), message.clone())));
    entries.extend(left.submitted.map(|prompt| JournalEntry::Submitted(name.clone(), prompt)));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_chat::{Author, Conversation};
    use swb_types::{Offset, Timestamp};

    const SUBMITTED: SubmittedPrompt = SubmittedPrompt { before: 3, from: Offset(40) };
    const HELD: RecoverySettings = RecoverySettings { auto_save: Some(5), reserved: true };

    fn head(name: &str) -> JournalEntry {
        let name = SessionName::new(name).unwrap();
        let dir = std::path::Path::new("/w");
        JournalEntry::Head(Box::new(Conversation::new(name, dir, dir, Timestamp(1)).saved().clone()), HELD)
    }

    #[test]
    fn the_oldest_messages_of_the_longest_conversation_go_first() {
        let mut journal = vec![head("long"), head("short")];
        let name = |name: &str| SessionName::new(name).unwrap();
        for n in 1..=100 {
            let message = |text: &str| Message::text_of(n, Author::User, text, Timestamp(n));
            journal.push(JournalEntry::Message(name("long"), message(&"x".repeat(1000))));
            journal.push(JournalEntry::Message(name("short"), message("y")));
        }
        let mut all = fold(&text_of(&journal));
        shorten(&mut all, 30_000);
        let numbers = |all: &BTreeMap<SessionName, RecoveredChat>, which: &str| -> Vec<u64> {
            all[&name(which)].saved.messages.iter().map(|message| message.number).collect()
        };
        assert_eq!(numbers(&all, "short").len(), 100);
        assert_eq!(numbers(&all, "long"), (76..=100).collect::<Vec<_>>());
        shorten(&mut all, 0);
        assert!(numbers(&all, "long").is_empty() && numbers(&all, "short").is_empty());
    }

    #[test]
    fn a_journal_has_the_same_entries_when_it_is_written_anew() {
        let name = SessionName::new("a").unwrap();
        let user = Message::text_of(1, Author::User, "hello", Timestamp(2));
        let mut answer = Message::text_of(2, Author::Assistant, "", Timestamp(3));
        answer.parts.clear();
        let journal = text_of(&[
            head("a"),
            head("b"),
            JournalEntry::Message(name.clone(), user.clone()),
            JournalEntry::Began(name.clone(), answer),
            JournalEntry::Submitted(name.clone(), SUBMITTED),
            JournalEntry::Part(name.clone(), Box::new(Part::Text("hi ".into()))),
            JournalEntry::Part(name.clone(), Box::new(Part::Text("there".into()))),
            JournalEntry::Gone(SessionName::new("b").unwrap()),
            head("a"),
        ]);
        let folded = fold(&journal);
        let again = fold(&written(&folded).unwrap().read(0).unwrap());
        for all in [folded, again] {
            let left = &all[&name];
            assert_eq!(all.len(), 1);
            assert_eq!(left.saved.messages, std::slice::from_ref(&user));
            assert_eq!(left.unfinished.as_ref().unwrap().text(), "hi there");
            assert_eq!((left.held, left.submitted), (HELD, Some(SUBMITTED)));
        }
    }

    #[test]
    fn nothing_is_lost_while_a_journal_is_written_anew() {
        let name = SessionName::new("a").unwrap();
        let (mut compacted, mut kept) = CompactedJournal::begin(&BTreeMap::new(), 4096).unwrap();
        compacted.add(&text_of(&[head("a")])).unwrap();
        let mut answer = Message::text_of(1, Author::Assistant, "", Timestamp(3));
        answer.parts.clear();
        compacted.add(&text_of(&[JournalEntry::Began(name.clone(), answer)])).unwrap();
        let (mut said, mut added, mut moves) = (String::new(), 0, 0);
        while moves < 3 {
            let word = format!("{} ", said.len());
            said.push_str(&word);
            let line = text_of(&[JournalEntry::Part(name.clone(), Box::new(Part::Text(word)))]);
            added += line.len() as u64;
            if let Some(memory) = compacted.add(&line).unwrap() {
                (kept, moves) = (memory, moves + 1);
            }
        }
        let (journal, text) = Journal::resume(kept, usize::MAX).unwrap();
        assert_eq!(fold(&text)[&name].unfinished.as_ref().unwrap().text(), said);
        assert!(journal.len() < added, "{} of {added} bytes", journal.len());
    }
}
