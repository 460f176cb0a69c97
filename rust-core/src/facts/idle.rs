//! Threads that wait for work.

use super::table;
use once_cell::sync::Lazy;
use serde::Deserialize;

/// Whether a stack is that of a thread that waits for work: a pool's thread without a task, an event
/// loop without events. `frames` are full function names, the leaf first.
///
/// A thread that waits in the middle of its work (for a lock, a fetch, a job) is not idle.
pub fn is_idle_stack<'a>(frames: impl IntoIterator<Item = &'a str>) -> bool {
    for frame in frames {
        if IDLE.idle.iter().any(|row| begins(frame, &row.waits)) {
            return true;
        }
        if !begins(frame, &IDLE.through) {
            return false;
        }
    }
    false
}

fn begins(frame: &str, beginnings: &[String]) -> bool {
    beginnings.iter().any(|beginning| frame.starts_with(beginning))
}

#[derive(Deserialize)]
struct Table {
    through: Vec<String>,
    idle: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    waits: Vec<String>,
}

static IDLE: Lazy<Table> = Lazy::new(|| table("idle.toml", include_str!("idle.toml")));

#[cfg(test)]
mod tests {
    use super::*;

    /// Thread name and frames of each stack in `idle_stacks.txt`.
    fn recorded() -> Vec<(&'static str, Vec<&'static str>)> {
        let blocks = include_str!("idle_stacks.txt").split("\n\n").skip(1);
        let stack = |block: &'static str| {
            let mut lines = block.lines().map(str::trim);
            (lines.next().unwrap(), lines.collect())
        };
        blocks.map(stack).collect()
    }

    fn idle(frames: &[&str]) -> bool {
        is_idle_stack(frames.iter().copied())
    }

    #[test]
    fn every_recorded_stack_of_an_idle_application_is_idle() {
        let busy: Vec<_> = recorded().into_iter().filter(|(_, frames)| !idle(frames)).collect();
        assert_eq!(busy, []);
    }

    #[test]
    fn every_row_is_seen_in_a_recorded_stack_or_of_another_version() {
        let unseen_here = [
            "io.netty.channel.nio.NioIoHandler.select",
            "io.netty.channel.epoll.EpollEventLoop.epollWait",
            "org.sparkproject.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait",
            "py4j.GatewayConnection.run",
        ];
        let recorded = recorded();
        let seen = |wait: &str| recorded.iter().any(|(_, frames)| frames.iter().any(|f| f.starts_with(wait)));
        let unseen: Vec<_> = IDLE.idle.iter().flat_map(|row| &row.waits).filter(|wait| !seen(wait)).collect();
        assert_eq!(unseen, unseen_here);
    }

    #[test]
    fn a_jdk_8_pool_is_idle() {
        assert!(idle(&[
            "sun.misc.Unsafe.park",
            "java.util.concurrent.locks.LockSupport.park",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
            "java.util.concurrent.LinkedBlockingQueue.take",
            "java.util.concurrent.ThreadPoolExecutor.getTask",
            "java.util.concurrent.ThreadPoolExecutor.runWorker",
        ]));
    }

    #[test]
    fn a_task_that_waits_for_a_shuffle_fetch_is_not_idle() {
        assert!(!idle(&[
            "jdk.internal.misc.Unsafe.park",
            "java.util.concurrent.locks.LockSupport.park",
            "java.util.concurrent.LinkedBlockingQueue.take",
            "org.apache.spark.storage.ShuffleBlockFetcherIterator.next",
            "org.apache.spark.util.CompletionIterator.hasNext",
            "java.util.concurrent.ThreadPoolExecutor.runWorker",
        ]));
    }

    #[test]
    fn a_task_that_waits_for_python_is_not_idle() {
        assert!(!idle(&[
            "sun.nio.ch.SocketDispatcher.read0",
            "sun.nio.ch.NioSocketImpl.read",
            "java.net.Socket$SocketInputStream.read",
            "java.io.BufferedInputStream.read",
            "java.io.DataInputStream.readInt",
            "org.apache.spark.sql.execution.python.BasePythonUDFRunner$$anon$2.read",
        ]));
    }

    #[test]
    fn a_listener_that_works_or_waits_is_not_idle() {
        let listener = |leaf: &'static str| {
            idle(&[
                leaf,
                "com.example.SlowListener.onTaskEnd",
                "org.apache.spark.scheduler.AsyncEventQueue.doPostEvent",
                "org.apache.spark.scheduler.AsyncEventQueue.$anonfun$dispatch$1",
            ])
        };
        assert!(!listener("java.lang.Thread.sleep"));
        assert!(!listener("java.util.HashMap.put"));
    }

    #[test]
    fn a_driver_that_waits_for_its_job_or_sleeps_is_not_idle() {
        assert!(!idle(&[
            "java.lang.Object.wait",
            "scala.concurrent.impl.Promise$DefaultPromise.tryAwait",
            "org.apache.spark.util.ThreadUtils$.awaitReady",
            "org.apache.spark.scheduler.DAGScheduler.runJob",
        ]));
        assert!(!idle(&["java.lang.Thread.sleep", "com.example.Job.main"]));
    }

    #[test]
    fn a_stack_of_waiting_frames_alone_is_not_idle() {
        assert!(!idle(&[]));
        assert!(!idle(&["java.lang.Object.wait", "java.util.concurrent.CountDownLatch.await"]));
    }
}
