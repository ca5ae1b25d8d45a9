//! Asking again when an error says that it helps.
use crate::error::Result;
use std::time::{Duration, Instant};

/// Where an error names no time.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls until it works, until an error says that asking again does not help (it is permanent, or not safe to repeat),
/// or until the next pause would end more than `within` from now; the pauses are those that the errors name. Blocks
/// this thread.
///
/// ```no_run
/// # fn f(model: &anelane::Model) -> anelane::Result<()> {
/// use std::time::Duration;
/// let vectors = anelane::retry(Duration::from_secs(60), || model.embed_by(&["A cat."], Duration::from_secs(2)))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The last one.
pub fn retry<T>(within: Duration, mut call: impl FnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    retry_with(
        |pause| {
            let fits = start.elapsed() + pause <= within;
            if fits {
                std::thread::sleep(pause);
            }
            fits
        },
        &mut call,
    )
}

/// `wait` sleeps, or says that there is no time for that.
fn retry_with<T>(mut wait: impl FnMut(Duration) -> bool, call: &mut impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(error) if error.is_transient() && error.safe_to_retry() => {
                if !wait(error.retry_after().unwrap_or(PAUSE)) {
                    return Err(error);
                }
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sys, Error};

    fn error(class: i32, safe: u32, after_ms: u64) -> Error {
        // SAFETY: numbers and arrays of numbers.
        let mut raw: sys::anelane_error = unsafe { std::mem::zeroed() };
        raw.status = sys::ANELANE_SHAPE_COMPILING;
        (raw.error_class, raw.safe_to_retry, raw.retry_after_ms) = (class, safe, after_ms);
        Error::from_raw(raw)
    }
    fn pauses(mut answers: Vec<Result<u32>>, mut allowed: usize) -> (Result<u32>, Vec<u64>) {
        crate::version().unwrap();
        answers.reverse();
        let mut pauses = Vec::new();
        let answer = retry_with(
            |pause| {
                pauses.push(pause.as_millis() as u64);
                allowed = allowed.wrapping_sub(1);
                allowed != usize::MAX
            },
            &mut || answers.pop().unwrap(),
        );
        (answer, pauses)
    }

    #[test]
    fn it_pauses_as_long_as_the_errors_say() {
        let (answer, pauses) = pauses(vec![Err(error(1, 1, 30)), Err(error(1, 1, 0)), Ok(7)], 9);
        assert_eq!((answer.unwrap(), pauses), (7, vec![30, 100]));
    }

    #[test]
    fn it_ends_where_asking_again_does_not_help_or_comes_too_late() {
        for (class, safe) in [(0, 1), (1, 0)] {
            let (answer, pauses) = pauses(vec![Err(error(class, safe, 5)), Ok(7)], 9);
            assert!(answer.is_err() && pauses.is_empty());
        }
        let (answer, pauses) = pauses(vec![Err(error(1, 1, 5)), Err(error(1, 1, 6)), Ok(7)], 1);
        assert_eq!((answer.unwrap_err().retry_after(), pauses), (Some(Duration::from_millis(6)), vec![5, 6]));
        let mut calls = 0;
        let refused = retry(Duration::ZERO, || {
            calls += 1;
            Err::<(), _>(error(1, 1, 60_000))
        });
        assert!(refused.is_err() && calls == 1);
    }
}
