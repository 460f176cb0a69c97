//! Runs one operation a number of times, for a tool that counts instructions. `benches/check.py` takes the difference
//! of two numbers, so that start and input do not count.
//!
//! `instructions` lists the operations as `repeats<tab>name`; `instructions <name> <times>` runs one.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let operations = glowplug_benches::operations();
    let [name, times] = args.as_slice() else {
        for operation in operations {
            println!("{}\t{}", operation.repeats, operation.name);
        }
        return ExitCode::SUCCESS;
    };
    let Some(operation) = operations.into_iter().find(|operation| operation.name == name) else {
        eprintln!("there is no operation `{name}`");
        return ExitCode::FAILURE;
    };
    let Ok(times) = times.parse::<u32>() else {
        eprintln!("`{times}` is no number of times");
        return ExitCode::FAILURE;
    };
    let mut run = (operation.prepare)();
    for _ in 0..times {
        run();
    }
    ExitCode::SUCCESS
}
