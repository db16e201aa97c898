//! A thread that reads lines from stdin and one that writes lines to stdout, so that a stuck peer blocks no call. If
//! the system allows, what the peer accepts without blocking is written without that thread: waking it costs each
//! answer about 30 µs.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::stop::{Ended, Stop};
use crate::mcp::protocol::jsonrpc::{self, Envelope, Rejected};

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 4 << 20;

#[derive(Debug)]
pub(super) enum Line {
    Read(Vec<u8>),
    TooLong,
}

impl Line {
    pub(super) fn envelope(&self) -> Result<Envelope, Rejected> {
        match self {
            Self::Read(line) => jsonrpc::envelope(line),
            Self::TooLong => Err(Rejected::too_large()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Read(line) => line.len(),
            Self::TooLong => 0,
        }
    }
}

/// A thread that reads lines, and a thread that writes them.
pub(super) struct Pipes {
    pub(super) lines: mpsc::Receiver<Line>,
    pub(super) out: Outbox,
}

impl Pipes {
    pub(super) fn open(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        stop: &Stop,
    ) -> std::io::Result<Self> {
        let (line_sender, lines) = mpsc::channel(4);
        let input_ended = stop.input_ended.clone();
        std::thread::Builder::new().name("stdin".to_owned()).stack_size(128 << 10).spawn(move || {
            read_lines(input, &line_sender);
            input_ended.cancel();
        })?;
        let (to, messages) = std::sync::mpsc::channel::<Vec<u8>>();
        let out = Outbox { to, queued: Arc::new(watch::Sender::new(0)), at_once: None };
        let (queued, stop) = (Arc::clone(&out.queued), stop.clone());
        std::thread::Builder::new().name("stdout".to_owned()).stack_size(128 << 10).spawn(move || {
            if let Err(error) = write_lines(output, &messages, &queued) {
                stop.because(match error.kind() {
                    std::io::ErrorKind::BrokenPipe => Ended::OutputClosed,
                    kind => Ended::OutputFailed(kind),
                });
            }
        })?;
        Ok(Self { lines, out })
    }

    /// The same, but writes what `output`, the thread's destination, accepts at once without using the thread.
    #[cfg(target_os = "linux")]
    pub(super) fn past_thread(mut self, output: impl std::os::fd::AsFd + Send + Sync + 'static) -> Self {
        let mut is_able = true;
        self.out.at_once =
            Some(Box::new(move |line| if is_able { write_at_once(&output, line, &mut is_able) } else { 0 }));
        self
    }
}

/// Writes as much of `line` as `output` accepts without blocking: pipes and sockets, on Linux 6.4 and later. Others
/// cannot do this, and the thread will find any other error too.
#[cfg(target_os = "linux")]
fn write_at_once(output: &impl std::os::fd::AsFd, line: &[u8], is_able: &mut bool) -> usize {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};
    let parts = [std::io::IoSlice::new(line)];
    pwritev2(output, &parts, u64::MAX, ReadWriteFlags::NOWAIT).unwrap_or_else(|error| {
        *is_able = error == Errno::AGAIN;
        0
    })
}

fn read_lines(input: impl Read, to: &mpsc::Sender<Line>) {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let (used, ended) = match input.fill_buf() {
            Ok([]) => return,
            Ok(read) => {
                let end = read.iter().position(|byte| *byte == b'\n');
                let used = end.map_or(read.len(), |end| end + 1);
                if !too_long && line.len() + used > MAX_LINE {
                    too_long = true;
                    line = Vec::new();
                } else if !too_long {
                    line.extend_from_slice(&read[..used]);
                }
                (used, end.is_some())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        input.consume(used);
        if ended {
            let read = std::mem::take(&mut line);
            let done = if std::mem::take(&mut too_long) { Line::TooLong } else { Line::Read(read) };
            if to.blocking_send(done).is_err() {
                return;
            }
        }
    }
}

fn write_lines(
    mut output: impl Write,
    messages: &std::sync::mpsc::Receiver<Vec<u8>>,
    queued: &watch::Sender<usize>,
) -> std::io::Result<()> {
    while let Ok(mut batch) = messages.recv() {
        while batch.len() < 64 << 10
            && let Ok(next) = messages.try_recv()
        {
            batch.extend_from_slice(&next);
        }
        output.write_all(&batch)?;
        output.flush()?;
        queued.send_modify(|queued| *queued = queued.saturating_sub(batch.len()));
    }
    Ok(())
}

/// Writes the beginning of a line, as much as is accepted without blocking; returns the number of bytes.
type AtOnce = Box<dyn FnMut(&[u8]) -> usize + Send + Sync>;

/// The lines to write, counted in bytes until they are written. Only one thread sends.
pub(super) struct Outbox {
    to: std::sync::mpsc::Sender<Vec<u8>>,
    pub(super) queued: Arc<watch::Sender<usize>>,
    at_once: Option<AtOnce>,
}

impl Outbox {
    pub(super) fn send(&mut self, line: Vec<u8>) {
        let mut line = jsonrpc::visible(line);
        line.push(b'\n');
        // Nothing is waiting to be written before it.
        if self.backlog() == 0
            && let Some(write) = &mut self.at_once
        {
            let written = write(&line);
            if written >= line.len() {
                return;
            }
            line.drain(..written);
        }
        self.queued.send_modify(|queued| *queued += line.len());
        // Fails only when the writer is gone, and then everything ends.
        let _ = self.to.send(line);
    }

    pub(super) fn backlog(&self) -> usize {
        *self.queued.borrow()
    }

    /// Waits at most `limit` until everything is written.
    pub(super) async fn flush(&self, limit: Duration) {
        let mut queued = self.queued.subscribe();
        let _ = tokio::time::timeout(limit, queued.wait_for(|queued| *queued == 0)).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::text;

    #[test]
    fn r4_9_every_line_that_goes_out_is_escaped() {
        let stop = Stop::default();
        let written = crate::ui::tests::Collects::default();
        let mut pipes = Pipes::open(std::io::empty(), written.clone(), &stop).unwrap();
        let value = json!({"a\u{202e}": "\u{7f}\u{e0041}\u{200b}é\n"});
        pipes.out.send(value.to_string().into_bytes());
        crate::runtime::block_on(pipes.out.flush(Duration::from_secs(5))).unwrap();
        let line = written.take();
        assert!(text::exposed(line.trim_end_matches('\n')).next().is_none(), "{line:?}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_reader_does_not_take_at_once_is_written_behind_it_in_order() {
        let (mut answers, output) = std::io::pipe().unwrap();
        let same = output.try_clone().unwrap();
        let mut pipes = Pipes::open(std::io::empty(), output, &Stop::default()).unwrap().past_thread(same);
        // A pipe holds 64 KiB.
        let lengths = [10, 100_000, 1, 300_000, 70_000, 5, 3 << 20, 7];
        let line = |n: usize| {
            format!("\"{}\"", char::from(b'a' + u8::try_from(n).unwrap()).to_string().repeat(lengths[n]))
        };
        let started = std::time::Instant::now();
        for n in 0..lengths.len() {
            pipes.out.send(line(n).into_bytes());
        }
        assert!(started.elapsed() < Duration::from_secs(5), "nobody reads yet");
        assert!(pipes.out.backlog() > 3 << 20);
        let reader = std::thread::spawn(move || {
            let mut all = String::new();
            answers.read_to_string(&mut all).map(|_| all)
        });
        crate::runtime::block_on(pipes.out.flush(Duration::from_secs(10))).unwrap();
        assert_eq!(pipes.out.backlog(), 0);
        pipes.out.send(line(0).into_bytes());
        drop(pipes);
        let all = reader.join().unwrap().unwrap();
        let expected = (0..lengths.len()).chain([0]).map(|n| line(n) + "\n").collect::<String>();
        assert!(all == expected, "{} of {} bytes", all.len(), expected.len());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_output_that_cannot_be_asked_so_is_left_to_the_thread() {
        use std::io::Seek as _;
        let mut file = tempfile::tempfile().unwrap();
        let (output, same) = (file.try_clone().unwrap(), file.try_clone().unwrap());
        let mut pipes = Pipes::open(std::io::empty(), output, &Stop::default()).unwrap().past_thread(same);
        pipes.out.send(b"1".to_vec());
        pipes.out.send(b"2".to_vec());
        crate::runtime::block_on(pipes.out.flush(Duration::from_secs(5))).unwrap();
        file.rewind().unwrap();
        assert_eq!(std::io::read_to_string(file).unwrap(), "1\n2\n");
    }
}
