//! The stdio transport, in a real process: every message is answered, and every way to end it is fast enough (R1.4,
//! R1.7, R1.8). The server is this test binary again, with a scripted read surface.

mod ends;
mod flow;
mod messages;
mod peer;
mod refusal;
mod scripted;
