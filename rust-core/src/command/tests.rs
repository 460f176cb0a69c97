use super::*;
use crate::encode::page::{data, read_info, PageApplication, PageFolded, PageInfo, PAGE_FOLDED_CELLS};
use crate::encode::testing::{add, small};
use crate::encode::{comments, pprof, ProfileView};
use crate::profile::{Profile, ValueType, Values};
use base64::prelude::{Engine, BASE64_STANDARD};
use std::fs;
use std::path::PathBuf;

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("glowplug-command-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn glowplug(args: &[&str]) -> Outcome {
    run(&args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>())
}

fn said(stdout: String) -> Outcome {
    Outcome { exit: 0, stdout, stderr: String::new() }
}

fn encoded(profile: &Profile, process: Option<&str>) -> Vec<u8> {
    pprof::encode(&ProfileView {
        profile,
        filter: process,
        from_ns: 1_790_000_000_000_000_000,
        duration_ns: 60_000_000_000,
        period_ns: 10_000_000,
        comments: comments("Acme nightly", "cpu=timers(10ms)"),
    })
}

#[test]
fn top_counts_recursion_once_and_says_what_the_shares_are_of() {
    let folder = Folder::new("top");
    let file = folder.file("profile.pb.gz", &encoded(&small(), None));
    assert_eq!(
        glowplug(&["top", &file]),
        said(
            "cpu: 0.07 s is 100 %\n\
             \x20       self                total          function\n\
             \x20     0.04 s  55.6 %       0.06 s  83.3 %  com.acme.Job.run\n\
             \x20     0.02 s  27.8 %       0.02 s  27.8 %  a.B.walk\n\
             \x20     0.01 s   9.7 %       0.01 s   9.7 %  [GC]\n\
             \x20     0.01 s   6.9 %       0.07 s  90.3 %  main\n"
                .to_owned()
        )
    );
}

#[test]
fn top_of_methods_sums_up_what_the_jvm_does_itself() {
    let folder = Folder::new("methods");
    let file = folder.file("profile.pb.gz", &encoded(&small(), None));
    assert_eq!(
        glowplug(&["top", &file, "--methods", "-n", "2"]),
        said(
            "cpu: 0.07 s is 100 %\n\
             \x20       self                total          function\n\
             \x20     0.04 s  55.6 %       0.06 s  83.3 %  com.acme.Job.run\n\
             \x20     0.02 s  27.8 %       0.02 s  27.8 %  a.B.walk\n\
             \x20     0.01 s   6.9 %  in 1 more\n\
             \x20     0.01 s   9.7 %  in what is no method: [GC]\n"
                .to_owned()
        )
    );
}

#[test]
fn top_of_a_stage_tells_its_share_of_the_profile() {
    let folder = Folder::new("stage");
    folder.file("profile.pb.gz", &encoded(&small(), None));
    assert_eq!(
        glowplug(&["top", &folder.path(""), "--stage", "3", "--process=1", "-n", "1"]),
        said(
            "cpu of stage 3 in process 1: 0.06 s is 100 % (83.3 % of the profile's 0.07 s)\n\
             \x20       self                total          function\n\
             \x20     0.04 s  66.7 %       0.06 s 100.0 %  com.acme.Job.run\n\
             \x20     0.02 s  33.3 %  in 2 more\n"
                .to_owned()
        )
    );
}

#[test]
fn top_of_wall_leaves_idle_threads_out_unless_asked() {
    let folder = Folder::new("wall");
    let file = folder.file("p.pb.gz", &encoded(&small(), None));
    assert_eq!(
        glowplug(&["top", &file, "--value", "wall"]),
        failed(
            1,
            "no wall (without threads that wait for work) was measured; this profile has samples, cpu, wall, \
             alloc_objects, alloc_space"
        )
    );
    assert_eq!(
        glowplug(&["top", &file, "--value", "wall", "--idle"]),
        said(
            "wall: 1.00 s is 100 %\n\
             \x20       self                total          function\n\
             \x20     1.00 s 100.0 %       1.00 s 100.0 %  java.lang.Object.wait\n\
             \x20     0.00 s   0.0 %       1.00 s 100.0 %  main\n"
                .to_owned()
        )
    );
    assert_eq!(
        glowplug(&["top", &file, "--value", "alloc_space", "-n", "1"]).stdout.lines().next(),
        Some("alloc_space: 4.0 KiB is 100 %")
    );
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = Folder::new("terminal");
    let mut profile = Profile::default();
    add(&mut profile, &["\u{1b}[2Jevil\u{202e}"], &[], Values::cpu(1, 10_000_000));
    let file = folder.file("p.pb.gz", &encoded(&profile, None));
    let out = glowplug(&["top", &file]).stdout;
    assert_eq!(
        out.lines().last(),
        Some("      0.01 s 100.0 %       0.01 s 100.0 %  \\u{1b}[2Jevil\\u{202e}")
    );
}

#[test]
fn a_folder_without_the_whole_is_read_from_its_parts_once() {
    let folder = Folder::new("parts");
    let profile = small();
    folder.file("executors/1.pb.gz", &encoded(&profile, Some("1")));
    folder.file("driver.pb.gz", &encoded(&profile, Some("driver")));
    folder.file("executors/notes.txt", b"no profile");
    let first = |args: &[&str]| glowplug(args).stdout.lines().next().map(str::to_owned);
    assert_eq!(first(&["top", &folder.path("")]), Some("cpu: 0.07 s is 100 %".to_owned()));
    assert_eq!(first(&["top", &folder.path("executors")]), Some("cpu: 0.07 s is 100 %".to_owned()));
    folder.file("periods/20261129T224100Z.pb.gz", &encoded(&profile, Some("driver")));
    folder.file("periods/20261129T224600Z.pb.gz", &encoded(&profile, Some("driver")));
    assert_eq!(first(&["top", &folder.path("")]), Some("cpu: 0.01 s is 100 %".to_owned()));
    folder.file("profile.pb.gz", &encoded(&profile, None));
    assert_eq!(
        first(&["top", &folder.path(""), "--process", "1"]),
        Some("cpu in process 1: 0.07 s is 100 % (93.1 % of the profile's 0.07 s)".to_owned())
    );
}

#[test]
fn a_report_of_files_is_a_page_with_their_sum() {
    let folder = Folder::new("report");
    let profile = small();
    let one = folder.file("executors/1.pb.gz", &encoded(&profile, Some("1")));
    let driver = folder.file("driver.pb.gz", &encoded(&profile, Some("driver")));
    let page = folder.path("page.html");
    let outcome = glowplug(&["report", &one, &driver, "-o", &page]);
    let html = fs::read_to_string(&page).expect("the page");
    assert_eq!(outcome.exit, 0);
    assert_eq!(outcome.stdout, format!("{page}: {} kB, processes: 2\n", html.len().div_ceil(1000)));
    assert!(html.contains("<title>Acme nightly</title>"), "{html}");
    let info = read_info(&embedded(&html)).expect("page data");
    assert_eq!((info.title.as_str(), info.engine.as_str()), ("Acme nightly", "cpu=timers(10ms)"));
    assert_eq!((info.from, info.to), (1_790_000_000_000, 1_790_000_060_000));
    let processes: Vec<_> =
        info.processes.iter().map(|process| (process.id.as_str(), process.samples)).collect();
    assert_eq!(processes, [("1", 6), ("driver", 1)]);
    assert_eq!(fs::read_dir(&folder.0).expect("the folder").count(), 3, "no temporary file stays");
}

fn embedded(html: &str) -> Vec<u8> {
    let start =
        html.find(r#"id="glowplug-data">"#).expect("the data element") + r#"id="glowplug-data">"#.len();
    let end = start + html[start..].find('<').expect("its end");
    BASE64_STANDARD.decode(&html[start..end]).expect("base64")
}

#[test]
fn a_report_of_a_folder_keeps_what_its_page_said() {
    let folder = Folder::new("folder");
    let profile = small();
    let whole = encoded(&profile, None);
    folder.file("profile.pb.gz", &whole);
    let info = PageInfo {
        format: 1,
        title: "Acme".into(),
        application: PageApplication { id: "app-1".into(), spark: "4.0.0".into(), ..Default::default() },
        folded: vec![
            PageFolded { what: PAGE_FOLDED_CELLS.into(), count: 9, weight: 9 },
            PageFolded { what: "process".into(), count: 3, weight: 4 },
        ],
        ..Default::default()
    };
    folder.file("page.json.gz", &data(&pprof::decode(&whole).expect("our file").view(), &info));
    let page = folder.path("page.html");
    glowplug(&["report", &folder.path(""), "-o", &page, "--title", "<b>mine</b>"]);
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains("&lt;b&gt;mine&lt;/b&gt;"));
    let mut expected = PageInfo { title: "<b>mine</b>".into(), ..info };
    expected.folded.remove(0);
    assert_eq!(read_info(&embedded(&html)).expect("page data"), expected);
}

#[test]
fn a_report_can_be_pprof_or_collapsed() {
    let folder = Folder::new("formats");
    let file = folder.file("a.pb.gz", &encoded(&small(), None));
    let (merged, stacks) = (folder.path("merged.pb.gz"), folder.path("out.collapsed"));
    glowplug(&["report", &file, &file, "-o", &merged]);
    let read = pprof::decode(&fs::read(&merged).expect("the file")).expect("pprof");
    assert_eq!(read.profile.total(ValueType::Cpu), 2 * 72_000_500);
    glowplug(&["report", &file, "-o", &stacks, "--value", "alloc_objects"]);
    assert_eq!(fs::read_to_string(&stacks).expect("the file"), "main;com.acme.Job.run 2\n");
}

#[test]
fn files_of_another_profiler_stand_for_a_process_each() {
    let folder = Folder::new("foreign");
    let mut profile = Profile::default();
    add(&mut profile, &["main.main"], &[], Values::cpu(1, 1_000_000_000));
    let a = folder.file("a.pb.gz", &encoded(&profile, None));
    let b = folder.file("b.pprof", &encoded(&profile, None));
    assert_eq!(
        glowplug(&["top", &a, &b, "--process", "b"]).stdout.lines().next(),
        Some("cpu in process b: 1.00 s is 100 % (50.0 % of the profile's 2.00 s)")
    );
}

#[test]
fn wrong_input_is_named_with_what_to_do() {
    let folder = Folder::new("wrong");
    let profile = small();
    let good = folder.file("app-1/profile.pb.gz", &encoded(&profile, None));
    let text = folder.file("text.pb.gz", b"<html>");
    let cut = folder.file("cut.pb.gz", &encoded(&profile, None)[..100]);
    let empty = folder.file("empty.pb.gz", &encoded(&profile, Some("nobody")));
    fs::create_dir(folder.path("void")).expect("a folder");
    let missing = folder.path("missing");
    let outer = Folder::new("wrong-outer");
    outer.file("app-1/profile.pb.gz", &encoded(&profile, None));
    let error = |args: &[&str]| {
        let outcome = glowplug(args);
        assert_eq!(outcome.stdout, "");
        (outcome.exit, outcome.stderr)
    };
    let input = |message: String| (1, format!("glowplug: {message}\n"));
    let usage =
        |message: &str| (2, format!("glowplug: {message}\nSee `java -jar glowplug-spark.jar --help`.\n"));
    assert_eq!(error(&["top", &missing]), input(format!("{missing}: no such file or folder")));
    assert_eq!(
        error(&["top", &folder.path("void")]),
        input(format!(
            "{}: no profile in this folder (looked for profile.pb.gz, driver.pb.gz, executors/, periods/, tasks/)",
            folder.path("void")
        ))
    );
    assert_eq!(
        error(&["top", &outer.path("")]),
        input(format!(
            "{}: holds folders of applications; name one of them, the newest is {}",
            outer.path(""),
            outer.path("app-1")
        ))
    );
    assert!(error(&["top", &text]).1.starts_with(&format!("glowplug: {text}: not a pprof file: ")));
    assert!(error(&["top", &cut])
        .1
        .starts_with(&format!("glowplug: {cut}: the gzip stream is damaged or cut: ")));
    assert_eq!(error(&["top", &empty]), input(format!("{empty}: no sample in it")));
    assert_eq!(
        error(&["top", &good, "--stage", "4"]),
        input("`--stage 4`: no such stage; there is only 3".into())
    );
    assert_eq!(
        error(&["top", &good, "--process", "2"]),
        input("`--process 2`: no such process; there are 1, driver".into())
    );
    assert_eq!(
        error(&["top", &good, "--value", "alloc-space"]),
        usage(
            "there is no value type `alloc-space`; did you mean `alloc_space`? Known: samples, cpu, wall, \
             alloc_objects, alloc_space, contentions, delay"
        )
    );
    assert_eq!(
        error(&["top", &good, "--stages", "4"]),
        usage("there is no option `--stages`; did you mean `--stage`? Known: -n, --sort, --value, --stage, --process, --methods, --idle")
    );
    assert_eq!(error(&["top", &good, "-n", "0"]), usage("`-n 0`: a whole number, 1 or more"));
    assert_eq!(error(&["top", &good, "-n"]), usage("`-n` needs a value"));
    assert_eq!(error(&["top", &good, "--stage", "1", "--stage=2"]), usage("`--stage` is given twice"));
    assert_eq!(error(&["top"]), usage("name a folder of Glowplug, or pprof files"));
    assert_eq!(error(&["report", &good]), usage("say where to: `-o page.html`"));
    assert_eq!(
        error(&["report", &good, "-o", "page.txt"]),
        usage("`page.txt`: the name must end in .html, .pb.gz or .collapsed, which says what is written")
    );
    assert_eq!(
        error(&["report", &good, "-o", "p.html", "--value", "cpu"]),
        usage("`--value` is for .collapsed: the other files hold all values")
    );
    let nowhere = folder.path("nowhere/page.html");
    assert!(error(&["report", &good, "-o", &nowhere])
        .1
        .contains(&format!("glowplug: {nowhere}: cannot be written: ")));
    assert_eq!(
        error(&["repport"]),
        usage("there is no command `repport`; did you mean `report`? Known: report, top")
    );
}

#[test]
fn help_is_there_for_each_command() {
    for (args, help) in
        [(vec!["--help"], HELP), (vec!["report", "--help"], report::HELP), (vec!["top", "-h"], top::HELP)]
    {
        assert_eq!(glowplug(&args), said(help.to_owned()));
        assert!(help.contains("java -jar glowplug-spark.jar"));
    }
    assert_eq!(glowplug(&[]), Outcome { exit: 2, stdout: String::new(), stderr: HELP.to_owned() });
    assert_eq!(
        glowplug(&["--version"]),
        said(concat!("glowplug ", env!("CARGO_PKG_VERSION"), "\n").to_owned())
    );
}
