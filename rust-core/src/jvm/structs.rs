//! The tables that HotSpot exports for its serviceability agent: field offsets and flags.
//!
//! Source: `vmStructs.cpp` of OpenJDK; the names of the exported symbols are the same from JDK 8 to
//! 25. Tried on 8, 11, 17, 21 and 25 (2026-11). Offsets move with every release, so they are read,
//! never assumed; a missing entry makes the caller do without.

use libc::{c_char, c_void};
use std::ffi::{CStr, CString};

/// The open libjvm and what was read out of it.
#[derive(Debug)]
pub(crate) struct VmStructs {
    /// Offset of the `OSThread*` in a `JavaThread`.
    pub(crate) os_thread: usize,
    /// Offset of the kernel thread id in an `OSThread`.
    pub(crate) thread_id: usize,
    /// Where a thread counts what it allocates.
    pub(crate) allocations: Option<AllocationFields>,
    flags: Option<FlagTable>,
}

/// Offsets in a `Thread` of what `Thread::cooked_allocated_bytes` adds up, the same in every release from 8 to 25:
/// the bytes of all that lies outside the present TLAB, and how far that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllocationFields {
    bytes: usize,
    tlab_start: usize,
    tlab_top: usize,
}

#[derive(Debug)]
struct FlagTable {
    first: *const u8,
    count: usize,
    stride: usize,
    name: usize,
    address: usize,
}

/// Looks up a symbol of the libjvm that this process runs.
pub(crate) fn symbol(name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: both strings are NUL-terminated; RTLD_NOLOAD never loads anything, and the handle of
    // a library that stays for the life of the process may be leaked.
    unsafe {
        let library =
            libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return std::ptr::null_mut();
        }
        libc::dlsym(library, name.as_ptr())
    }
}

impl VmStructs {
    /// Reads the tables; `None` where this JVM does not have them (not HotSpot).
    pub(crate) fn read() -> Option<VmStructs> {
        let fields = Table::open("gHotSpotVMStructs", "gHotSpotVMStructEntry")?;
        let types = Table::open("gHotSpotVMTypes", "gHotSpotVMTypeEntry")?;
        let type_name = types.column("TypeName")?;
        let type_size = types.column("Size")?;
        let columns = FieldColumns {
            type_name: fields.column("TypeName")?,
            field_name: fields.column("FieldName")?,
            offset: fields.column("Offset")?,
            address: fields.column("Address")?,
        };

        let mut os_thread = None;
        let mut thread_id = None;
        let (mut allocated_bytes, mut tlab, mut tlab_start, mut tlab_top) = (None, None, None, None);
        let mut flags_at = None;
        let mut flag_count = None;
        let mut flag_name = None;
        let mut flag_address = None;
        let mut flag_type = "JVMFlag";
        for entry in fields.entries(columns.type_name) {
            let owner = entry.text(columns.type_name);
            let field = entry.text(columns.field_name);
            match (owner, field) {
                // In JavaThread up to 24, in Thread from 25 on.
                ("JavaThread" | "Thread", "_osthread") => os_thread = Some(entry.number(columns.offset)),
                ("OSThread", "_thread_id") => thread_id = Some(entry.number(columns.offset)),
                ("Thread", "_allocated_bytes") => {
                    allocated_bytes = Some(entry.number(columns.offset) as usize)
                }
                ("Thread", "_tlab") => tlab = Some(entry.number(columns.offset) as usize),
                ("ThreadLocalAllocBuffer", "_start") => {
                    tlab_start = Some(entry.number(columns.offset) as usize)
                }
                ("ThreadLocalAllocBuffer", "_top") => tlab_top = Some(entry.number(columns.offset) as usize),
                // `Flag` up to 8, `JVMFlag` after.
                ("JVMFlag" | "Flag", "flags") => {
                    flags_at = Some(entry.number(columns.address));
                    flag_type = if owner == "Flag" { "Flag" } else { "JVMFlag" };
                }
                ("JVMFlag" | "Flag", "numFlags") => flag_count = Some(entry.number(columns.address)),
                ("JVMFlag" | "Flag", "_name") => flag_name = Some(entry.number(columns.offset)),
                ("JVMFlag" | "Flag", "_addr") => flag_address = Some(entry.number(columns.offset)),
                _ => {}
            }
        }
        let stride = types
            .entries(type_name)
            .find(|entry| entry.text(type_name) == flag_type)
            .map(|entry| entry.number(type_size) as usize);

        let flags = match (flags_at, flag_count, stride, flag_name, flag_address) {
            (Some(at), Some(count), Some(stride), Some(name), Some(address)) if at != 0 && count != 0 => {
                Some(FlagTable {
                    // SAFETY: `flags` is a static `Flag*` and `numFlags` a static `size_t` of libjvm.
                    first: unsafe { *(at as *const *const u8) },
                    // SAFETY: as above.
                    count: unsafe { *(count as *const usize) },
                    stride,
                    name: name as usize,
                    address: address as usize,
                })
            }
            _ => None,
        };
        let allocations = match (allocated_bytes, tlab, tlab_start, tlab_top) {
            (Some(bytes), Some(tlab), Some(start), Some(top)) => {
                Some(AllocationFields { bytes, tlab_start: tlab + start, tlab_top: tlab + top })
            }
            _ => None,
        };
        let (os_thread, thread_id) = (os_thread? as usize, thread_id? as usize);
        Some(VmStructs { os_thread, thread_id, allocations, flags })
    }

    /// Kernel id of the thread whose `JavaThread` is at `java_thread`; `None` if it has none now.
    pub(crate) fn kernel_tid(&self, memory: &KernelReader, java_thread: usize) -> Option<i32> {
        let os_thread = memory.word(java_thread.checked_add(self.os_thread)?)?;
        let tid = memory.word(os_thread.checked_add(self.thread_id)?)? as i32;
        (java_thread != 0 && os_thread != 0 && tid > 0).then_some(tid)
    }

    /// Switches a boolean flag of the JVM. Returns false where it does not exist.
    pub(crate) fn set_bool_flag(&self, name: &str) -> bool {
        let Some(table) = &self.flags else { return false };
        for index in 0..table.count {
            // SAFETY: rows `0..count` of `stride` bytes are libjvm's static flag table; a name is
            // NULL (the sentinel row) or a static C string, an address is that of the flag's value.
            unsafe {
                let row = table.first.add(index * table.stride);
                let text = *(row.add(table.name) as *const *const c_char);
                if text.is_null() || CStr::from_ptr(text).to_bytes() != name.as_bytes() {
                    continue;
                }
                let value = *(row.add(table.address) as *const *mut u8);
                if value.is_null() {
                    return false;
                }
                value.write_volatile(1);
                return true;
            }
        }
        false
    }
}

impl AllocationFields {
    /// Longest piece of a `Thread` that is read at once; 76 to 136 bytes from 8 to 25.
    const LONGEST: usize = 1024;

    /// Bytes that the thread at `java_thread` has allocated in its life; it may be running, or gone. `None` where there
    /// is no such memory, or the thread was changing its TLAB.
    pub(crate) fn of(&self, memory: &KernelReader, java_thread: usize) -> Option<u64> {
        let before = self.read(memory, java_thread)?;
        // The words are not read at once: between two of them the thread may have taken a new TLAB, anywhere in the heap.
        let after = self.read(memory, java_thread)?;
        before.is_of_one_tlab(after).then(|| after.sum())
    }

    /// Bytes that the calling thread has allocated in its life.
    ///
    /// # Safety
    /// `java_thread` is the calling thread's own `JavaThread`.
    pub(crate) unsafe fn of_current(&self, java_thread: usize) -> u64 {
        // SAFETY: the caller's promise: the object lives, its table names these fields, and nobody else writes them
        // outside of a safepoint.
        let word = |offset: usize| unsafe { ((java_thread + offset) as *const u64).read_volatile() };
        let allocated = Allocated {
            bytes: word(self.bytes),
            tlab_start: word(self.tlab_start),
            tlab_top: word(self.tlab_top),
        };
        allocated.sum()
    }

    fn read(&self, memory: &KernelReader, java_thread: usize) -> Option<Allocated> {
        let first = self.bytes.min(self.tlab_start).min(self.tlab_top);
        let end = self.bytes.max(self.tlab_start).max(self.tlab_top) + size_of::<u64>();
        let mut piece = [0_u8; AllocationFields::LONGEST];
        let piece = piece.get_mut(..end - first)?;
        memory.read(java_thread.checked_add(first)?, piece).then_some(())?;
        let word = |offset: usize| piece[offset - first..].first_chunk().copied().map(u64::from_ne_bytes);
        Some(Allocated {
            bytes: word(self.bytes)?,
            tlab_start: word(self.tlab_start)?,
            tlab_top: word(self.tlab_top)?,
        })
    }
}

/// A thread's count, and its present TLAB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allocated {
    bytes: u64,
    tlab_start: u64,
    tlab_top: u64,
}

impl Allocated {
    /// True if all of both was read while the thread had one and the same TLAB: a thread that gives one up counts it.
    fn is_of_one_tlab(self, after: Allocated) -> bool {
        self.bytes == after.bytes && self.tlab_start == after.tlab_start && self.tlab_top <= after.tlab_top
    }

    fn sum(self) -> u64 {
        let used = self.tlab_top.checked_sub(self.tlab_start).filter(|_| self.tlab_start != 0);
        self.bytes.saturating_add(used.unwrap_or(0))
    }
}

/// Reads this process's memory through a pipe: the kernel answers EFAULT where we would crash.
/// (`process_vm_readv` does the same but is refused in many containers.)
pub(crate) struct KernelReader {
    from: libc::c_int,
    to: libc::c_int,
}

impl KernelReader {
    pub(crate) fn open() -> Option<KernelReader> {
        let mut ends = [0; 2];
        // SAFETY: an array of two for two descriptors.
        (unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } == 0)
            .then_some(KernelReader { from: ends[0], to: ends[1] })
    }

    fn word(&self, address: usize) -> Option<usize> {
        let mut word = [0; size_of::<usize>()];
        self.read(address, &mut word).then_some(usize::from_ne_bytes(word))
    }

    /// Fills `target`, of at most 4096 bytes, from `address`; false if not all of it is there.
    fn read(&self, address: usize, target: &mut [u8]) -> bool {
        // SAFETY: the kernel checks the source address; the target is our own. The pipe is empty before and
        // after, and takes so much whole.
        unsafe {
            let written = libc::write(self.to, address as *const c_void, target.len());
            if written <= 0 {
                return false;
            }
            let read = libc::read(self.from, target.as_mut_ptr().cast(), written as usize);
            read == written && written as usize == target.len()
        }
    }
}

impl Drop for KernelReader {
    fn drop(&mut self) {
        // SAFETY: both descriptors are ours and open.
        unsafe {
            libc::close(self.from);
            libc::close(self.to);
        }
    }
}

struct FieldColumns {
    type_name: usize,
    field_name: usize,
    offset: usize,
    address: usize,
}

/// One exported table: rows of `stride` bytes, closed by a row whose first name is NULL.
pub(super) struct Table {
    prefix: &'static str,
    first: *const u8,
    stride: usize,
}

impl Table {
    pub(super) fn open(table: &str, prefix: &'static str) -> Option<Table> {
        let at = symbol(table) as *const *const u8;
        if at.is_null() {
            return None;
        }
        let stride = exported_u64(&format!("{prefix}ArrayStride"))? as usize;
        // SAFETY: the symbol is a static pointer to the table.
        let first = unsafe { *at };
        (!first.is_null()).then_some(Table { prefix, first, stride })
    }

    pub(super) fn column(&self, name: &str) -> Option<usize> {
        Some(exported_u64(&format!("{}{name}Offset", self.prefix))? as usize)
    }

    pub(super) fn entries(&self, name_column: usize) -> impl Iterator<Item = Row> + '_ {
        (0..)
            // SAFETY: rows follow each other up to and with the closing one, where we stop.
            .map(|index: usize| Row(unsafe { self.first.add(index * self.stride) }))
            // SAFETY: the column holds a pointer to a static C string, NULL in the closing row.
            .take_while(move |row| unsafe { !(*(row.0.add(name_column) as *const *const c_char)).is_null() })
    }
}

pub(super) struct Row(*const u8);

impl Row {
    pub(super) fn text(&self, column: usize) -> &'static str {
        // SAFETY: string columns hold NULL or a pointer to a static C string.
        unsafe {
            let text = *(self.0.add(column) as *const *const c_char);
            if text.is_null() {
                return "";
            }
            CStr::from_ptr(text).to_str().unwrap_or("")
        }
    }

    pub(super) fn number(&self, column: usize) -> u64 {
        // SAFETY: number columns are `uint64_t` or pointers, 8 bytes wide on the platforms we run on.
        unsafe { *(self.0.add(column) as *const u64) }
    }

    /// The value of a static variable whose address is in this column, 0 where it has none.
    ///
    /// # Safety
    /// The variable is a word wide.
    pub(super) unsafe fn static_word(&self, column: usize) -> usize {
        let at = self.number(column) as *const usize;
        // SAFETY: the caller's promise; statics of libjvm live as long as the process.
        if at.is_null() {
            0
        } else {
            unsafe { *at }
        }
    }
}

fn exported_u64(name: &str) -> Option<u64> {
    let at = symbol(name) as *const u64;
    if at.is_null() {
        return None;
    }
    // SAFETY: these symbols are static `uint64_t` of libjvm.
    Some(unsafe { *at })
}

// SAFETY: the raw pointer leads to libjvm's static flag table, which is never moved or freed.
unsafe impl Send for VmStructs {}
// SAFETY: as above; a flag's byte is written volatile and by one thread at start only.
unsafe impl Sync for VmStructs {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_no_word() {
        let memory = KernelReader::open().expect("a pipe");
        let here = 0x1234_5678_usize;
        assert_eq!(memory.word(&raw const here as usize), Some(here));
        assert_eq!(memory.word(16), None);
        assert_eq!(memory.word(&raw const here as usize), Some(here), "still in step after a fault");
    }

    #[test]
    fn what_is_only_partly_there_is_not_read_and_leaves_the_pipe_empty() {
        let memory = KernelReader::open().expect("a pipe");
        // SAFETY: two pages of ours, of which the second is taken away.
        let end = unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let pages = libc::mmap(std::ptr::null_mut(), 2 * page, access, kind, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            libc::munmap(pages.byte_add(page), page);
            pages as usize + page
        };
        let mut target = [0; 24];
        assert!(memory.read(end - 24, &mut target));
        assert!(!memory.read(end - 16, &mut target));
        assert_eq!(memory.word(&raw const end as usize), Some(end), "still in step");
    }

    #[test]
    fn a_thread_has_allocated_what_it_counted_and_what_it_used_of_its_buffer() {
        let fields = AllocationFields { bytes: 24, tlab_start: 8, tlab_top: 16 };
        let memory = KernelReader::open().expect("a pipe");
        let both = |thread: [u64; 4]| {
            let at = &raw const thread as usize;
            // SAFETY: the array is what `fields` describes.
            let own = unsafe { fields.of_current(at) };
            assert_eq!(fields.of(&memory, at), Some(own));
            own
        };
        assert_eq!(both([7, 0x1000, 0x1800, 500]), 500 + 0x800);
        assert_eq!(both([7, 0, 0, 500]), 500, "no buffer");
        assert_eq!(both([7, 0, 0x1800, 500]), 500, "the buffer is being given up");
        assert_eq!(both([7, 0x1800, 0x1000, 500]), 500, "and a new one taken");
        assert_eq!(fields.of(&memory, 0), None);
    }

    #[test]
    fn what_was_read_while_a_thread_changed_its_buffer_is_not_believed() {
        let before = Allocated { bytes: 500, tlab_start: 0x1000, tlab_top: 0x1800 };
        assert!(before.is_of_one_tlab(before));
        assert!(before.is_of_one_tlab(Allocated { tlab_top: 0x1810, ..before }), "it allocates meanwhile");
        let counted = Allocated { bytes: 500 + 0x800, ..before };
        assert!(!before.is_of_one_tlab(counted), "counted, and not given up yet");
        let mixed = Allocated { tlab_top: 0x9010, ..counted };
        let fresh = Allocated { tlab_start: 0x9000, ..mixed };
        assert!(!mixed.is_of_one_tlab(fresh), "the end of the new one with the start of the old one");
        assert!(!counted.is_of_one_tlab(Allocated { tlab_start: 0, tlab_top: 0, ..counted }));
    }
}
