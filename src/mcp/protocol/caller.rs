//! Who calls: what the client of a call says about itself, available while the call runs.

/// The calling client, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `clientInfo.name`.
    pub name: String,
    /// `clientInfo.version`.
    pub version: String,
}

tokio::task_local! {
    static CALLER: Option<Caller>;
}

/// Runs `call` on behalf of `caller`.
pub async fn of_caller<T>(caller: Option<Caller>, call: impl Future<Output = T>) -> T {
    CALLER.scope(caller, call).await
}

/// The caller of the running call, if there is one and its client named itself.
pub fn current() -> Option<Caller> {
    CALLER.try_with(Clone::clone).ok().flatten()
}
