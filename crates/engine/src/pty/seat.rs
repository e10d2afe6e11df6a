//! Several terminals on one program: all of them type, one of them answers queries.
//!
//! Every attached terminal shows a program's query and answers it. The program sent one query, so the replies of all
//! terminals but one are removed from their input: that one is the terminal with the latest input, or the latest to
//! attach. A terminal that is sent pictures in place of output does not see the query, and comes last. Input of clients whose protocol promises to deliver each byte is never changed; others give way to them.

use super::Pty;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The terminals on one program; the last one answers queries.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: Mutex<SeatOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeatHolder {
    number: u64,
    /// Its input is passed on unchanged.
    verbatim: bool,
}

/// The terminals in the order of their last input.
#[derive(Debug, Default)]
struct SeatOrder {
    next: u64,
    places: Vec<SeatHolder>,
    /// Those that do not see the program's queries.
    hidden: Vec<SeatHolder>,
}

/// A client that types into a program, as long as this lives.
#[derive(Debug)]
pub struct Seat {
    pty: Arc<Pty>,
    place: SeatHolder,
}

impl Pty {
    /// Adds a client that types; with `verbatim` its input is never changed.
    pub fn seat(self: &Arc<Self>, verbatim: bool) -> Seat {
        let place = self.seats.enter(verbatim);
        Seat { pty: Arc::clone(self), place }
    }
}

impl Seat {
    /// The part of `input` for the program: all of it, or without the replies that another terminal sends.
    pub fn typed<'a>(&self, input: &'a [u8]) -> Cow<'a, [u8]> {
        self.pty.seats.typed(self.place, input)
    }

    /// Notes whether the client's terminal is sent the output, and so sees the program's queries.
    pub fn sees_queries(&self, sees: bool) {
        self.pty.seats.show(self.place, sees);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.pty.seats.leave(self.place);
    }
}

impl Seats {
    fn lock(&self) -> MutexGuard<'_, SeatOrder> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, verbatim: bool) -> SeatHolder {
        let order = &mut *self.lock();
        let place = SeatHolder { number: order.next, verbatim };
        order.next += 1;
        order.places.push(place);
        place
    }

    fn leave(&self, place: SeatHolder) {
        let order = &mut *self.lock();
        order.places.retain(|other| *other != place);
        order.hidden.retain(|other| *other != place);
    }

    fn show(&self, place: SeatHolder, sees: bool) {
        let order = &mut *self.lock();
        order.hidden.retain(|other| *other != place);
        if !sees {
            order.hidden.push(place);
        }
    }

    fn typed<'a>(&self, place: SeatHolder, input: &'a [u8]) -> Cow<'a, [u8]> {
        let SeatOrder { places, hidden, .. } = &mut *self.lock();
        let leader = places.iter().rfind(|place| !hidden.contains(place));
        let leads = leader == Some(&place) && !places.iter().any(|place| place.verbatim);
        if leads || place.verbatim || places.len() < 2 {
            return Cow::Borrowed(input);
        }
        let typed = swb_vt::without_replies(input);
        if !typed.is_empty() {
            places.retain(|other| *other != place);
            places.push(place);
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"\x1b[?62;22c";

    #[test]
    fn one_of_two_answers_and_it_is_the_one_in_use() {
        let seats = Seats::default();
        let first = seats.enter(false);
        assert_eq!(&*seats.typed(first, ANSWER), ANSWER, "alone");
        let second = seats.enter(false);
        assert_eq!((&*seats.typed(first, ANSWER), &*seats.typed(second, ANSWER)), (&b""[..], ANSWER));
        assert_eq!(&*seats.typed(first, b"x"), b"x", "keys always pass");
        assert_eq!((&*seats.typed(first, ANSWER), &*seats.typed(second, ANSWER)), (ANSWER, &b""[..]));
        seats.leave(first);
        assert_eq!(&*seats.typed(second, ANSWER), ANSWER);
    }

    #[test]
    fn a_terminal_that_sees_no_queries_leaves_the_answers_to_another() {
        let seats = Seats::default();
        let [output, pictures] = [seats.enter(false), seats.enter(false)];
        seats.show(pictures, false);
        assert_eq!((&*seats.typed(output, ANSWER), &*seats.typed(pictures, ANSWER)), (ANSWER, &b""[..]));
        assert_eq!(&*seats.typed(pictures, b"x"), b"x");
        assert_eq!(&*seats.typed(output, ANSWER), ANSWER, "also after the other has typed");
        seats.show(pictures, true);
        assert_eq!((&*seats.typed(output, ANSWER), &*seats.typed(pictures, ANSWER)), (&b""[..], ANSWER));
    }

    #[test]
    fn who_is_promised_every_byte_gets_it() {
        let seats = Seats::default();
        let promised = seats.enter(true);
        let ours = seats.enter(false);
        assert_eq!((&*seats.typed(promised, ANSWER), &*seats.typed(ours, ANSWER)), (ANSWER, &b""[..]));
        assert_eq!(&*seats.typed(ours, b"x\x1b[1;1R"), b"x");
        assert_eq!(&*seats.typed(ours, ANSWER), b"");
    }
}
