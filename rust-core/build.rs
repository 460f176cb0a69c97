//! Takes the build id and the page's bundle into the library. Without a bundle (no Node.js on the
//! machine) the core still builds and its tests still run: then a template with the same
//! placeholders stands in, which no jar may carry.

use std::path::{Path, PathBuf};
use std::{env, fs};

const BUNDLE_FOLDER: &str = "../ui/dist";

/// The placeholders are the bundle's; the comment is what the packaging check looks for.
const STAND_IN: &str = r#"<!doctype html>
<meta charset="utf-8"><!-- glowplug: the page bundle is missing -->
<title>__GLOWPLUG_TITLE__</title>
<script type="text/plain" id="glowplug-data"></script>
"#;

fn main() {
    println!("cargo::rerun-if-env-changed=GLOWPLUG_BUILD_ID");
    let build = env::var("GLOWPLUG_BUILD_ID").unwrap_or_else(|_| "unpackaged".to_owned());
    println!("cargo::rustc-env=GLOWPLUG_BUILD_ID={build}");

    // Cargo runs the script, and compiles the crate, at every build while a watched path is absent.
    fs::create_dir_all(BUNDLE_FOLDER).expect("ui/ can be written");
    println!("cargo::rerun-if-changed={BUNDLE_FOLDER}");
    println!("cargo::rerun-if-env-changed=GLOWPLUG_REQUIRE_PAGE");
    println!("cargo::rustc-check-cfg=cfg(page_bundle_missing)");

    let bundle = Path::new(BUNDLE_FOLDER).join("index.html");
    let page = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("page.html");
    if bundle.exists() {
        fs::copy(bundle, page).expect("the page bundle can be copied into OUT_DIR");
        return;
    }
    assert!(
        env::var_os("GLOWPLUG_REQUIRE_PAGE").is_none(),
        "ui/dist/index.html is missing: `npm ci && npm run build` in ui/ makes it; a library without it is not packaged"
    );
    println!("cargo::rustc-cfg=page_bundle_missing");
    fs::write(page, STAND_IN).expect("OUT_DIR can be written");
}
