//! Where an application's folder goes.

use super::fields::Pairs;
use crate::settings::Folder;

/// The folder that holds all applications', and what the user must know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Path or URI; `None`: no files.
    pub(crate) root: Option<String>,
    /// Where it came from: the key, or why it is the default.
    pub(crate) why: String,
    /// Said at start.
    pub(crate) warning: Option<String>,
}

const NAME: &str = "glowplug-profiles";

/// Finds the place for a process with these facts (`deploy_mode`, `default_fs`, `user_home`), whose
/// working directory is `here`.
pub(crate) fn place(dir: &Folder, process: &Pairs, here: &str) -> Place {
    match dir {
        Folder::Off => Place { root: None, why: "spark.glowplug.dir=none".to_owned(), warning: None },
        Folder::At(path) => {
            let relative = !path.contains("://") && !path.starts_with('/') && !path.contains(":/");
            let root = if relative { format!("{here}/{path}") } else { path.clone() };
            Place { root: Some(trimmed(&root)), why: "spark.glowplug.dir".to_owned(), warning: None }
        }
        Folder::Default if process.get("deploy_mode") == "cluster" => cluster_home(process),
        Folder::Default => Place {
            root: Some(format!("{}/{NAME}", trimmed(here))),
            why: "default, the working directory".to_owned(),
            warning: None,
        },
    }
}

/// In cluster mode the working directory goes with the container; the user's home stays, if the
/// default file system is not the container's own disk.
fn cluster_home(process: &Pairs) -> Place {
    let (file_system, home) = (trimmed(process.get("default_fs")), process.get("user_home"));
    let local = file_system.is_empty() || file_system.starts_with("file:");
    let root = if local { format!("{home}/{NAME}") } else { format!("{file_system}{home}/{NAME}") };
    let disk = match process.get("master").starts_with("spark://") {
        true => "the disk of whichever worker runs this driver",
        false => "this container's own disk and ends with it",
    };
    let warning = local.then(|| {
        format!(
            "the profile goes to {root} on {disk}: set spark.glowplug.dir to a folder on a shared file system \
             (hdfs://, s3a://, gs://, …)"
        )
    });
    Place { root: Some(root), why: "default, the user's home".to_owned(), warning }
}

fn trimmed(path: &str) -> String {
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/".to_owned(),
        rest => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pairs: &[(&str, &str)]) -> Pairs {
        Pairs::of(pairs.iter().flat_map(|(key, value)| [key.to_string(), value.to_string()]).collect())
    }

    fn root(dir: Folder, pairs: &[(&str, &str)]) -> Option<String> {
        place(&dir, &process(pairs), "/data/ann/job").root
    }

    #[test]
    fn client_mode_writes_beside_the_user() {
        assert_eq!(
            root(Folder::Default, &[("deploy_mode", "client")]).as_deref(),
            Some("/data/ann/job/glowplug-profiles")
        );
        assert_eq!(root(Folder::Off, &[]), None);
        assert_eq!(root(Folder::At("out/x/".into()), &[]).as_deref(), Some("/data/ann/job/out/x"));
        assert_eq!(root(Folder::At("s3a://b/p/".into()), &[]).as_deref(), Some("s3a://b/p"));
        assert_eq!(root(Folder::At("file:/tmp/p".into()), &[]).as_deref(), Some("file:/tmp/p"));
    }

    #[test]
    fn cluster_mode_writes_to_the_users_home_on_the_shared_file_system() {
        let cluster =
            [("deploy_mode", "cluster"), ("default_fs", "hdfs://nn:8020/"), ("user_home", "/user/ann")];
        let found = place(&Folder::Default, &process(&cluster), "/container");
        assert_eq!(found.root.as_deref(), Some("hdfs://nn:8020/user/ann/glowplug-profiles"));
        assert_eq!(found.warning, None);
    }

    #[test]
    fn cluster_mode_with_a_local_file_system_warns() {
        let cluster = [("deploy_mode", "cluster"), ("default_fs", "file:///"), ("user_home", "/data/ann")];
        let found = place(&Folder::Default, &process(&cluster), "/container");
        assert_eq!(found.root.as_deref(), Some("/data/ann/glowplug-profiles"));
        assert_eq!(
            found.warning.as_deref(),
            Some(
                "the profile goes to /data/ann/glowplug-profiles on this container's own disk and ends with it: set \
                 spark.glowplug.dir to a folder on a shared file system (hdfs://, s3a://, gs://, …)"
            )
        );
        let standalone =
            [("master", "spark://m:7077"), ("deploy_mode", "cluster"), ("user_home", "/data/ann")];
        assert_eq!(
            place(&Folder::Default, &process(&standalone), "/container").warning.as_deref(),
            Some(
                "the profile goes to /data/ann/glowplug-profiles on the disk of whichever worker runs this driver: \
                 set spark.glowplug.dir to a folder on a shared file system (hdfs://, s3a://, gs://, …)"
            )
        );
    }
}
