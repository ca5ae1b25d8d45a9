//! The lane: the one owner of the engine for this user.
//!
//! Models, leases and operations keep the lane's inner part, so it is closed with the last of them, or by `close`.
//! Memory that the library lends (mapped ports, results of operations) ends with the close; so who looks at it is
//! counted in one word, and the close waits for those who copy a result and refuses while a port is mapped.
//!
//! States of the word: open with so many readers and mappings; closing, by so many calls at once; closed. A call that could
//! not close (in a callback) opens it again, unless another one still may: the last one out decides. Threads: any.
use crate::error::{check, Error, Result};
use crate::info::{sized, Holder, LaneStats};
use crate::input::{c_path, text_of};
use crate::library::ready;
use crate::model::{Loading, Model};
use crate::operation::{Awaited, Operation, Start};
use crate::{sys, Code, Deadline, LaneOptions, ModelOptions, Program};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a lane that is dropped gives its workers to end in good order.
const CLOSE_BOUND: Duration = Duration::from_secs(10);
/// Against a reader that was lost in a fork: copies take microseconds.
const READERS_BOUND: Duration = Duration::from_secs(10);

const READER: u64 = 1;
const MAPPING: u64 = 1 << 24;
const CLOSER: u64 = 1 << 48;
const DONE: u64 = 1 << 62;
const CLOSED: u64 = 1 << 63;

pub(crate) struct LaneInner {
    raw: sys::anelane_lane,
    word: AtomicU64,
}

/// While it lives the lane is not closed.
pub(crate) struct Pin<'a>(&'a LaneInner, u64);

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.0.word.fetch_sub(self.1, Ordering::Release);
    }
}

impl LaneInner {
    /// For the copy of a result.
    pub(crate) fn reading(&self) -> Result<Pin<'_>> {
        self.pin(READER)
    }
    /// For as long as a port is mapped.
    pub(crate) fn mapping(&self) -> Result<Pin<'_>> {
        self.pin(MAPPING)
    }
    fn pin(&self, kind: u64) -> Result<Pin<'_>> {
        let open = |word: u64| (word & CLOSED == 0).then(|| word + kind);
        match self.word.fetch_update(Ordering::Acquire, Ordering::Relaxed, open) {
            Ok(_) => Ok(Pin(self, kind)),
            Err(_) => Err(Error::closed()),
        }
    }

    /// From open, with nobody who looks at lent memory, to closing; or one more who closes, as the library has the words
    /// for that. `leave` ends it.
    fn shut(&self) -> Result<()> {
        let start = Instant::now();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let closing = (word | CLOSED) + CLOSER;
            if word & CLOSED != 0 {
                if self.word.compare_exchange(word, closing, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return Ok(());
                }
                continue;
            }
            let mapped = word / MAPPING;
            if mapped != 0 {
                let message =
                    format!("{mapped} mapped ports are in use: drop them before the lane is closed");
                return Err(Error::invalid(&message));
            }
            if word == 0 {
                if self.word.compare_exchange(0, closing, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return Ok(());
                }
            } else if start.elapsed() > READERS_BOUND {
                return Err(Error::invalid("results of operations are being read"));
            }
            std::thread::yield_now();
        }
    }

    fn leave(&self, done: bool) {
        let left = |word: u64| {
            let left = (word - CLOSER) | if done { DONE } else { 0 };
            Some(if left == CLOSED { 0 } else { left })
        };
        let _ = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, left);
    }

    fn close(&self, deadline: Deadline) -> Result<()> {
        self.shut()?;
        // SAFETY: nobody looks at memory that ends now.
        let closed = check(|error| unsafe { sys::anelane_lane_close(self.raw, deadline.ns(), error) });
        let nothing_done = [Code::WRONG_THREAD, Code::FORKED];
        self.leave(!closed.as_ref().is_err_and(|error| nothing_done.contains(&error.code())));
        closed
    }
}

impl Drop for LaneInner {
    fn drop(&mut self) {
        if *self.word.get_mut() & CLOSED != 0 {
            return;
        }
        let raw = self.raw;
        // SAFETY: all that looked at lent memory kept `self`.
        let close = move || unsafe {
            sys::anelane_lane_close(raw, Deadline::after(CLOSE_BOUND).ns(), std::ptr::null_mut())
        };
        if close() == sys::ANELANE_WRONG_THREAD {
            // The last owner went in a callback. Without a thread, the lane stays open until the process ends.
            let _ = std::thread::Builder::new().name("anelane-close".into()).spawn(close);
        }
    }
}

/// The lane of this user. It is closed when it and all its models, leases and operations are dropped (with ten seconds
/// for the workers to end in good order), or by [`close`](Lane::close).
#[derive(Clone)]
pub struct Lane {
    inner: Arc<LaneInner>,
}

impl Lane {
    /// Takes the lane. Another process holds it: waits until the deadline, then [`Code::LANE_BUSY`] names the holder.
    /// The same `lock_dir` again in this process is the same lane, counted.
    ///
    /// # Errors
    /// As `anelane_lane_open`.
    pub fn open(options: &LaneOptions, deadline: impl Into<Deadline>) -> Result<Lane> {
        ready()?;
        let deadline = deadline.into().ns();
        let mut raw = sys::anelane_lane { bits: 0 };
        // SAFETY: all pointers are valid for the call.
        options.with_raw(|options| {
            check(|error| unsafe { sys::anelane_lane_open(options, deadline, &mut raw, error) })
        })??;
        Ok(Lane { inner: Arc::new(LaneInner { raw, word: AtomicU64::new(0) }) })
    }

    /// Closes it now: calls that wait are answered [`Code::CLOSED`], workers end, and nothing is left behind. Whatever
    /// is used afterwards answers an error.
    ///
    /// # Errors
    /// [`Code::INVALID_ARGUMENT`]: a [`PortMap`](crate::PortMap) lives, and the lane stays open.
    /// [`Code::WRONG_THREAD`]: within a callback, and it stays open. [`Code::BAD_HANDLE`]: it is closed already.
    pub fn close(&self, deadline: impl Into<Deadline>) -> Result<()> {
        self.inner.close(deadline.into())
    }

    /// Loads a checkpoint folder. Blocks until it is loaded or refused.
    ///
    /// # Errors
    /// As `anelane_model_load`.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Model> {
        self.load_with(path, &ModelOptions::new(), Deadline::NONE)
    }
    /// The same with options and until a deadline.
    ///
    /// # Errors
    /// As `anelane_model_load`.
    pub fn load_with(
        &self,
        path: impl AsRef<Path>,
        options: &ModelOptions,
        deadline: impl Into<Deadline>,
    ) -> Result<Model> {
        let (path, deadline) = (c_path(path.as_ref())?, deadline.into().ns());
        let mut raw = sys::anelane_model { bits: 0 };
        let progress = options.with_raw(|options, progress| {
            // SAFETY: all pointers are valid for the call; `progress` is kept with the model.
            check(|error| unsafe {
                sys::anelane_model_load(self.inner.raw, path.as_ptr(), options, deadline, &mut raw, error)
            })
            .map(|()| progress)
        })??;
        Model::from_raw(raw, Arc::clone(&self.inner), progress.map(Arc::new))
    }
    /// Loads programs from memory, which are copied before this returns.
    ///
    /// # Errors
    /// As `anelane_model_load_program`.
    pub fn load_program(
        &self,
        program: &Program<'_>,
        options: &ModelOptions,
        deadline: impl Into<Deadline>,
    ) -> Result<Model> {
        let deadline = deadline.into().ns();
        let mut raw = sys::anelane_model { bits: 0 };
        let progress = program.with_raw(|program| {
            options.with_raw(|options, progress| {
                // SAFETY: all pointers are valid for the call; `progress` is kept with the model.
                check(|error| unsafe {
                    sys::anelane_model_load_program(
                        self.inner.raw,
                        program,
                        options,
                        deadline,
                        &mut raw,
                        error,
                    )
                })
                .map(|()| progress)
            })
        })???;
        Model::from_raw(raw, Arc::clone(&self.inner), progress.map(Arc::new))
    }
    /// Without blocking.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_load(
        &self,
        path: impl AsRef<Path>,
        options: &ModelOptions,
        deadline: impl Into<Deadline>,
    ) -> Result<Operation<Model>> {
        self.begin_load(Awaited, path.as_ref(), options, deadline.into())
    }
    pub(crate) fn begin_load<S: Start>(
        &self,
        start: S,
        path: &Path,
        options: &ModelOptions,
        deadline: Deadline,
    ) -> Result<S::Started<Model>> {
        let (path, deadline, raw) = (c_path(path)?, deadline.ns(), self.inner.raw);
        options.with_raw(|options, progress| {
            let loading = Loading { lane: Arc::clone(&self.inner), progress: progress.map(Arc::new) };
            // SAFETY: all pointers are valid for the call.
            start.start(&self.inner, loading, |done, user, op, error| unsafe {
                sys::anelane_start_load(raw, path.as_ptr(), options, deadline, done, user, op, error)
            })
        })?
    }
    pub(crate) fn inner(&self) -> &LaneInner {
        &self.inner
    }

    /// What it holds and has done.
    ///
    /// # Errors
    /// The lane is closed.
    pub fn stats(&self) -> Result<LaneStats> {
        let mut raw = sized!(anelane_lane_stats);
        // SAFETY: a struct that says its size.
        check(|error| unsafe { sys::anelane_lane_get_stats(self.inner.raw, &mut raw, error) })?;
        Ok(LaneStats::from_raw(&raw))
    }
    /// Options, models with their slots, queue and learned costs, as JSON.
    ///
    /// # Errors
    /// The lane is closed.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: text_of gives a buffer and its size.
        text_of(|buf, cap, len, error| unsafe {
            sys::anelane_lane_describe(self.inner.raw, buf, cap, len, error)
        })
    }
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_lane {
        self.inner.raw
    }
}

fn dir(lock_dir: Option<&Path>) -> Result<Option<std::ffi::CString>> {
    ready()?;
    lock_dir.map(c_path).transpose()
}

/// Who holds the lane at `lock_dir` (`None`: the default)? Needs no lane and changes nothing.
///
/// # Errors
/// As `anelane_lane_holder`.
pub fn holder(lock_dir: Option<&Path>) -> Result<Holder> {
    let dir = dir(lock_dir)?;
    let mut raw = sized!(anelane_holder);
    let dir = dir.as_ref().map_or(std::ptr::null(), |dir| dir.as_ptr());
    // SAFETY: a C string or null, and a struct that says its size.
    check(|error| unsafe { sys::anelane_lane_holder(dir, &mut raw, error) })?;
    Ok(Holder::from_raw(&raw))
}

/// What the lane at `lock_dir` (`None`: the default) does, whoever holds it, as JSON.
///
/// # Errors
/// As `anelane_lane_peek`.
pub fn peek(lock_dir: Option<&Path>) -> Result<String> {
    let dir = dir(lock_dir)?;
    let dir = dir.as_ref().map_or(std::ptr::null(), |dir| dir.as_ptr());
    // SAFETY: a C string or null; text_of gives a buffer and its size.
    text_of(|buf, cap, len, error| unsafe { sys::anelane_lane_peek(dir, buf, cap, len, error) })
}

/// Feeds a record of a lane's decisions through the scheduler of this library: how many events there were, and the
/// first difference between what was decided then and now (empty: none).
///
/// # Errors
/// As `anelane_replay`.
pub fn replay(record: impl AsRef<Path>) -> Result<(u64, String)> {
    ready()?;
    let record = c_path(record.as_ref())?;
    let steps = std::cell::Cell::new(0);
    // SAFETY: a C string; text_of gives a buffer and its size.
    let difference = text_of(|buf, cap, len, error| unsafe {
        sys::anelane_replay(record.as_ptr(), steps.as_ptr(), buf, cap, len, error)
    })?;
    Ok((steps.get(), difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word of its own; the handle is null, which the library refuses.
    fn lane() -> LaneInner {
        LaneInner { raw: sys::anelane_lane { bits: 0 }, word: AtomicU64::new(0) }
    }

    #[test]
    fn a_mapping_keeps_the_lane_open_and_a_reader_is_waited_for() {
        let lane = lane();
        let mapping = lane.mapping().unwrap();
        assert!(lane.shut().unwrap_err().message().starts_with("1 mapped ports"));
        drop(mapping);
        let reader = lane.reading().unwrap();
        std::thread::scope(|scope| {
            let closer = scope.spawn(|| lane.shut());
            std::thread::yield_now();
            assert_eq!(lane.word.load(Ordering::Relaxed), READER);
            drop(reader);
            closer.join().unwrap().unwrap();
        });
        assert_eq!(lane.reading().err().unwrap().code(), Code::CLOSED);
        assert_eq!(lane.mapping().err().unwrap().code(), Code::CLOSED);
    }

    #[test]
    fn who_could_not_close_opens_it_only_where_nobody_else_closes() {
        let lane = lane();
        lane.shut().unwrap();
        lane.shut().unwrap();
        lane.leave(false); // in a callback, while another thread is about to end the memory
        assert!(lane.mapping().is_err() && lane.reading().is_err());
        lane.leave(false);
        assert!(lane.mapping().is_ok() && lane.reading().is_ok());
        lane.shut().unwrap();
        lane.shut().unwrap();
        lane.leave(true);
        lane.leave(false);
        assert!(lane.mapping().is_err() && lane.reading().is_err());
        lane.shut().unwrap();
        lane.leave(false);
        assert!(lane.mapping().is_err());
    }
}
