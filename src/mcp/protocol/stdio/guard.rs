//! Enforces the end of the process, from a thread with its own clock, whatever the other threads are stuck in.

use std::time::Duration;

use futures_util::FutureExt as _;

use super::stop::{Ended, FLUSH, GRACE, LONGEST_END, Stop};
use crate::runtime::StopSignals;
use crate::shutdown;

/// When the process is ended if it has not ended on its own.
const LAST_RESORT: Duration = Duration::from_millis(1100);

const WATCH_EVERY: Duration = Duration::from_millis(250);

const _: () = assert!(WATCH_EVERY.as_millis() + LAST_RESORT.as_millis() < LONGEST_END.as_millis(), "R1.8");

/// Watches, on its own thread and runtime, for everything that should end the process, and ends it if it does not end
/// on its own.
pub(super) fn watch(stop: Stop) -> std::io::Result<()> {
    let (parent, mut signals) = (parent(), StopSignals::listen());
    std::thread::Builder::new().name("guard".to_owned()).stack_size(256 << 10).spawn(move || {
        let Ok(runtime) = crate::runtime::of_this_thread() else { return };
        runtime.block_on(async {
            let mut signals = std::pin::pin!(signals.next().fuse());
            tokio::select! {
                () = &mut signals => stop.because(Ended::Signal),
                cause = left_alone(parent) => stop.because(cause),
                () = stop.now.cancelled() => {}
                () = stop.input_ended.cancelled() => tokio::time::sleep(GRACE).await,
            }
            tokio::time::sleep(if stop.now.is_cancelled() { LAST_RESORT } else { FLUSH }).await;
            // A token exchange in progress may finish, unless something asks the process to stop.
            if stop.cause() == Ended::EndOfInput && shutdown::PROCESS.is_held() {
                tokio::select! {
                    () = shutdown::PROCESS.released(shutdown::LONGEST) => tokio::time::sleep(FLUSH).await,
                    () = signals => tokio::time::sleep(LAST_RESORT).await,
                }
            }
        });
        // Reached only if a call blocks the runtime or a token exchange takes too long: in all other cases the
        // process has already ended.
        #[allow(clippy::exit, reason = "R1.8: nothing may keep the process alive")]
        std::process::exit(i32::from(!shutdown::PROCESS.is_held()));
    })?;
    Ok(())
}

/// Whether the process was started without a stdout. The replacement that the standard library opens is also
/// readable; a shell's `>/dev/null` is only writable.
#[cfg(unix)]
pub(super) fn is_stdout_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl};
    #[allow(clippy::disallowed_methods, reason = "only looked at")]
    let stdout = std::io::stdout();
    crate::ui::goes_nowhere(&stdout) && fcntl_getfl(&stdout).is_ok_and(|flags| flags.contains(OFlags::RDWR))
}

#[cfg(not(unix))]
pub(super) const fn is_stdout_closed() -> bool {
    false
}

#[cfg(unix)]
type Parent = Option<rustix::process::Pid>;

#[cfg(not(unix))]
type Parent = ();

#[cfg(unix)]
fn parent() -> Parent {
    rustix::process::getppid()
}

#[cfg(not(unix))]
fn parent() -> Parent {}

/// Ends when the parent is no longer `parent`, when nobody can read stdout any more, or when stdin has had no writer
/// for longer than R1.8 allows. The reader notices the last case itself, unless it waits for a client that reads no
/// answers.
#[cfg(unix)]
async fn left_alone(parent: Parent) -> Ended {
    let mut ticks = tokio::time::interval(WATCH_EVERY);
    loop {
        ticks.tick().await;
        if self::parent() != parent {
            return Ended::ParentGone;
        }
        #[allow(clippy::disallowed_methods, reason = "only looked at")]
        if is_hung_up(&std::io::stdout(), Way::Out) {
            return Ended::OutputClosed;
        }
        if is_hung_up(&std::io::stdin(), Way::In) {
            // One tick may already have passed.
            tokio::time::sleep(GRACE.saturating_sub(WATCH_EVERY)).await;
            if is_hung_up(&std::io::stdin(), Way::In) {
                return Ended::EndOfInput;
            }
        }
    }
}

/// Windows supports neither check; a closed stdin and a failed write remain.
#[cfg(not(unix))]
async fn left_alone(_parent: Parent) -> Ended {
    std::future::pending().await
}

/// What a stream is for.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
enum Way {
    In,
    Out,
}

/// Whether `stream` is a pipe or socket whose other end is closed, determined without reading or writing.
///
/// macOS reports nothing about a stream unless an event is requested, and "no such stream" (`NVAL`) for devices,
/// including terminals. The standard library substitutes the null device for a missing stream.
#[cfg(unix)]
fn is_hung_up(stream: &impl std::os::fd::AsFd, way: Way) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let asked = match way {
        Way::In => PollFlags::IN,
        Way::Out => PollFlags::OUT,
    };
    let mut watched = [PollFd::new(stream, asked)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn r1_8_a_pipe_without_its_other_end_is_told_from_one_that_is_full_or_empty() {
        let (input, mut writer) = std::io::pipe().unwrap();
        assert!(!is_hung_up(&input, Way::In), "empty");
        writer.write_all(b"x").unwrap();
        assert!(!is_hung_up(&input, Way::In), "with a byte");
        drop(writer);
        assert!(is_hung_up(&input, Way::In), "nobody writes, and a byte is unread");
        let (reader, output) = std::io::pipe().unwrap();
        assert!(!is_hung_up(&output, Way::Out));
        drop(reader);
        assert!(is_hung_up(&output, Way::Out));
    }

    #[test]
    fn a_device_is_never_hung_up() {
        #[allow(clippy::disallowed_methods, reason = "a device, not a file")]
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        assert!(!is_hung_up(&null, Way::In) && !is_hung_up(&null, Way::Out));
    }
}
