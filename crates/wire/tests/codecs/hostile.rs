//! Announced lengths cost nothing: memory grows with the bytes that arrived, never with those announced.

use swb_wire::control::{self, MAX_FRAME};
use swb_wire::keepty::{self, DecodeError};
use swb_wire::{FrameError, LengthPrefixed};

/// Bytes of memory a decoder may hold after a handful of bytes.
const SMALL: usize = 1024;

// KP-2
#[test]
fn keepty_refuses_a_huge_length_on_the_header_alone() {
    for len in [1_048_579_u32, 0x7b22_7665, u32::MAX] {
        let mut decoder = keepty::Decoder::new();
        decoder.push(&len.to_be_bytes());
        assert!(decoder.capacity() < SMALL);
        let error = FrameError::TooLarge { len: len as usize, max: 1_048_578 };
        assert_eq!(decoder.next(), Err(DecodeError::Frame(error)));
        assert_eq!(decoder.capacity(), 0);
    }
}

// CO-14, CO-53; the middle value is the bare JSON text `{"ve` read as a length (CO-10)
#[test]
fn coop_refuses_a_huge_length_on_the_header_alone() {
    for len in [1_048_577_u32, 0x7b22_7665, u32::MAX] {
        let mut command = control::command_frames();
        let mut stream = control::command_frames();
        control::enter_stream(&mut stream);
        for frames in [&mut command, &mut stream] {
            frames.push(&len.to_be_bytes());
            assert!(frames.capacity() < SMALL);
            assert_eq!(frames.next(), Err(FrameError::TooLarge { len: len as usize, max: MAX_FRAME }));
            assert_eq!(frames.capacity(), 0);
        }
    }
}

// KP-2, CO-14
#[test]
fn an_allowed_length_is_not_allocated_in_advance() {
    let mut decoder = keepty::Decoder::new();
    decoder.push(&1_048_578_u32.to_be_bytes());
    decoder.push(&[1, 4, b'x']);
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.capacity() < SMALL, "{}", decoder.capacity());

    let mut frames = control::command_frames();
    frames.push(&1_048_576_u32.to_be_bytes());
    frames.push(b"{");
    assert_eq!(frames.next(), Ok(None));
    assert!(frames.capacity() < SMALL, "{}", frames.capacity());
}

#[test]
fn bytes_after_an_error_are_not_buffered() {
    let mut frames = LengthPrefixed::new(0, 16);
    frames.push(&u32::MAX.to_be_bytes());
    assert!(frames.next().is_err());
    for _ in 0..1000 {
        frames.push(&[0; 1000]);
    }
    assert_eq!(frames.capacity(), 0);
}

#[test]
fn many_small_frames_do_not_grow_the_buffer() {
    let mut frames = LengthPrefixed::new(0, MAX_FRAME);
    // Each push ends with the first byte of the next frame, so the buffer is never quite empty.
    frames.push(&[0]);
    for _ in 0..100_000 {
        frames.push(&[0, 0, 1, b'x', 0]);
        assert_eq!(frames.next(), Ok(Some(b"x".to_vec())));
        assert_eq!(frames.next(), Ok(None));
    }
    assert!(frames.capacity() < SMALL, "{}", frames.capacity());
}
