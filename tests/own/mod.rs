//! A person's own data on this computer: granted by `connect local`, read in process, ended (O1, O6, O7).

mod asked;
mod attachment_text;
mod backup;
mod damaged;
mod filled;
pub mod granted;
mod in_process;
#[cfg(target_os = "linux")]
mod memory;
mod owner_page;
mod owner_page_files;
pub mod page;
#[cfg(target_os = "linux")]
mod public;
#[cfg(target_os = "linux")]
mod separate;
mod served;
#[cfg(target_os = "linux")]
mod set_up;
#[cfg(target_os = "linux")]
pub mod terminal;
