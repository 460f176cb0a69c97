//! The labels that a sample can carry.

/// Label keys of the output contract (docs/OUTPUT.md); `user_*` keys come on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LabelKey {
    /// `driver`, an executor id, or `other`.
    Process,
    /// Stage id.
    Stage,
    /// Stage attempt number.
    StageAttempt,
    /// SQL execution id.
    SqlExecution,
    /// Spark job group.
    JobGroup,
    /// First line of the job description, at most 200 characters.
    JobDescription,
    /// Thread state, on wall values only.
    ThreadState,
    /// Thread name with its numbers folded.
    Thread,
}

impl LabelKey {
    /// All keys.
    pub const ALL: [LabelKey; 8] = [
        LabelKey::Process,
        LabelKey::Stage,
        LabelKey::StageAttempt,
        LabelKey::SqlExecution,
        LabelKey::JobGroup,
        LabelKey::JobDescription,
        LabelKey::ThreadState,
        LabelKey::Thread,
    ];

    /// The key as it stands in files.
    pub fn as_str(self) -> &'static str {
        match self {
            LabelKey::Process => "process",
            LabelKey::Stage => "stage",
            LabelKey::StageAttempt => "stage_attempt",
            LabelKey::SqlExecution => "sql_execution",
            LabelKey::JobGroup => "job_group",
            LabelKey::JobDescription => "job_description",
            LabelKey::ThreadState => "thread_state",
            LabelKey::Thread => "thread",
        }
    }
}

/// Characters kept of a label's value.
pub const MAX_LABEL: usize = 200;

/// The Spark labels of one task, as (key, value) in file spelling, values cut and cleaned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TaskLabels(pub Vec<(String, String)>);

/// What a thread did when the wall engine looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadState {
    /// Runs Java code or waits for a core.
    Runnable,
    /// In native code or a system call.
    Native,
    /// Waits for a monitor.
    Blocked,
    /// Waits with no limit.
    Waiting,
    /// Waits with a limit.
    TimedWaiting,
    /// Waits for work: its stack is a known idle one.
    Idle,
}

impl ThreadState {
    /// All states.
    pub const ALL: [ThreadState; 6] = [
        ThreadState::Runnable,
        ThreadState::Native,
        ThreadState::Blocked,
        ThreadState::Waiting,
        ThreadState::TimedWaiting,
        ThreadState::Idle,
    ];

    /// The value of the `thread_state` label.
    pub fn as_str(self) -> &'static str {
        match self {
            ThreadState::Runnable => "RUNNABLE",
            ThreadState::Native => "NATIVE",
            ThreadState::Blocked => "BLOCKED",
            ThreadState::Waiting => "WAITING",
            ThreadState::TimedWaiting => "TIMED_WAITING",
            ThreadState::Idle => "IDLE",
        }
    }
}
