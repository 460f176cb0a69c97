//! The life of a profiler in one JVM: owns the threads, the clock, the periods, the shutdown.
