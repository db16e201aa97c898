//! A person's own data on this machine: granted by `connect local`, read in process, ended (O1, O6, O7).

mod asked;
#[cfg(target_os = "linux")]
mod attachment_text;
#[cfg(target_os = "linux")]
mod backup;
#[cfg(target_os = "linux")]
mod damaged;
mod filled;
#[cfg(target_os = "linux")]
pub mod granted;
mod in_process;
#[cfg(target_os = "linux")]
mod memory;
mod owner_page;
#[cfg(target_os = "linux")]
mod owner_page_files;
#[cfg(target_os = "linux")]
pub mod page;
#[cfg(target_os = "linux")]
mod public;
mod separate;
#[cfg(target_os = "linux")]
mod served;
#[cfg(target_os = "linux")]
mod set_up;
#[cfg(target_os = "linux")]
pub mod terminal;
