//! Who asks: what the client of a call says of itself, for as long as the call runs.

/// Who asks, as the client itself says.
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

/// Runs `call` as one of `caller`'s.
pub async fn of_caller<T>(caller: Option<Caller>, call: impl Future<Output = T>) -> T {
    CALLER.scope(caller, call).await
}

/// Whose call this is, where one runs and its client said who it is.
pub fn current() -> Option<Caller> {
    CALLER.try_with(Clone::clone).ok().flatten()
}
