//! The engine's unsafe calls: registering descriptors with the runtime, and giving memory back.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use swb_keeper::KeeperLink;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Types that own the descriptor they show and never change it.
pub(crate) trait Owning: AsRawFd {}

impl Owning for OwnedFd {}
impl Owning for Arc<OwnedFd> {}
impl Owning for KeeperLink {}

/// Registers a descriptor; it is deregistered when the result is dropped.
pub(crate) fn register<T: Owning>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owning` type keeps its descriptor open and the same as long as the `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(Into::into)
}

/// Has the allocator give large blocks back as soon as they are freed, and share what it keeps between threads.
///
/// Without that setting it learns from the first large block to keep those, and each thread keeps its own.
pub(crate) fn tune_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (option, value) in [
        (libc::M_MMAP_THRESHOLD, crate::limits::LARGE_BLOCK),
        (libc::M_TRIM_THRESHOLD, crate::limits::LARGE_BLOCK),
        (libc::M_ARENA_MAX, crate::limits::ARENAS),
    ] {
        // SAFETY: it takes no pointer; an option it does not know changes nothing.
        let _done = unsafe { libc::mallopt(option, value) };
    }
}

/// Takes this program's code and constants out of the process's memory; what is used is mapped again from the file, in
/// microseconds. A start touches most of the program, and what follows little of it.
pub(crate) fn unmap_code() {
    #[cfg(target_os = "linux")]
    {
        /// Unmaps the parts of the first object, the program itself, that nothing can have written.
        unsafe extern "C" fn unmap(
            object: *mut libc::dl_phdr_info,
            _size: libc::size_t,
            _data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the caller passes an object with its table of segments.
            let (base, segments) = unsafe {
                let object = &*object;
                (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
            };
            let kept = |flags: u32| flags & libc::PF_W != 0;
            for segment in segments.iter().filter(|part| part.p_type == libc::PT_LOAD && !kept(part.p_flags))
            {
                let page = rustix::param::page_size() as u64;
                let start = (base + segment.p_vaddr).next_multiple_of(page);
                let end = (base + segment.p_vaddr + segment.p_memsz) & !(page - 1);
                if let Some(length) = end.checked_sub(start).filter(|length| *length > 0) {
                    // SAFETY: these are whole pages of a segment without write access: their content is that of the
                    // file, from which they are read again.
                    let _unmapped = unsafe {
                        libc::madvise(start as *mut libc::c_void, length as usize, libc::MADV_DONTNEED)
                    };
                }
            }
            1
        }
        // SAFETY: the function follows the contract of such functions, and takes no data.
        unsafe { libc::dl_iterate_phdr(Some(unmap), std::ptr::null_mut()) };
    }
}

/// Gives memory that was freed back to the system, where the allocator would keep it.
pub(crate) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes no pointer, and may be called from any thread at any time.
        let _released = unsafe { libc::malloc_trim(0) };
    }
}
