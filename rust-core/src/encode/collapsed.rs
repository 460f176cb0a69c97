//! Collapsed stacks: one line for each stack, `root;caller;leaf value`.

use super::text::visible;
use super::ProfileView;
use crate::profile::{Dictionary, NameId, NodeId, ValueType};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes one value type of the view. Labels and lines are summed away.
///
/// # Errors
/// What `out` answers.
pub fn write(view: &ProfileView, value: ValueType, out: &mut impl Write) -> io::Result<()> {
    let dictionary = &view.profile.dictionary;
    let mut totals: FxHashMap<NodeId, u64> = FxHashMap::default();
    let mut order = Vec::new();
    for ((node, _), values) in view.rows() {
        let amount = values.get(value);
        if amount > 0 {
            let total = totals.entry(node).or_insert_with(|| {
                order.push(node);
                0
            });
            *total = total.saturating_add(amount);
        }
    }
    let mut names: FxHashMap<NameId, String> = FxHashMap::default();
    let mut lines: FxHashMap<String, usize> = FxHashMap::default();
    let mut rows: Vec<(String, u64)> = Vec::new();
    for node in order {
        let stack = stack(dictionary, node, &mut names);
        let at = *lines.entry(stack.clone()).or_insert(rows.len());
        match rows.get_mut(at) {
            Some((_, total)) => *total = total.saturating_add(totals[&node]),
            None => rows.push((stack, totals[&node])),
        }
    }
    for (stack, total) in rows {
        writeln!(out, "{stack} {total}")?;
    }
    Ok(())
}

fn stack(dictionary: &Dictionary, node: NodeId, names: &mut FxHashMap<NameId, String>) -> String {
    let mut stack = String::new();
    for frame in dictionary.path(node) {
        let function = dictionary.frame_of(frame).function;
        let name = names.entry(function).or_insert_with(|| frame_text(dictionary.text(function)));
        if !stack.is_empty() {
            stack.push(';');
        }
        stack.push_str(name);
    }
    stack
}

/// A name as one frame: `;` ends a frame, a line break ends a line, and a number behind a space is
/// read as a value.
fn frame_text(name: &str) -> String {
    let mut text = match visible(name) {
        Cow::Borrowed(name) => name.to_owned(),
        Cow::Owned(name) => name,
    }
    .replace(';', ":");
    if let Some(space) = text.rfind(' ') {
        if text[space + 1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            text.replace_range(space..=space, "_");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{add, small};
    use super::super::ProfileView;
    use super::*;
    use crate::profile::{Profile, Values};

    fn collapsed(profile: &Profile, filter: Option<&str>, value: ValueType) -> String {
        let view =
            ProfileView { profile, filter, from_ns: 0, duration_ns: 0, period_ns: 0, comments: vec![] };
        let mut out = Vec::new();
        write(&view, value, &mut out).expect("a Vec takes all bytes");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn lines_and_labels_are_summed_away() {
        assert_eq!(
            collapsed(&small(), None, ValueType::Cpu),
            "main;com.acme.Job.run 40000500\n\
             main;com.acme.Job.run;a.B.walk;a.B.walk 20000000\n\
             [GC] 7000000\n\
             main 5000000\n"
        );
        assert_eq!(
            collapsed(&small(), Some("driver"), ValueType::Wall),
            "main;java.lang.Object.wait 1000000000\n"
        );
        assert_eq!(collapsed(&small(), None, ValueType::Delay), "");
    }

    #[test]
    fn a_name_cannot_end_its_frame_or_line() {
        let mut profile = Profile::default();
        add(&mut profile, &["a;b\nc", "d 12"], &[], Values::cpu(1, 5));
        add(&mut profile, &["e f", "g 1x"], &[], Values::cpu(1, 6));
        assert_eq!(collapsed(&profile, None, ValueType::Cpu), "a:b\\u{a}c;d_12 5\ne f;g 1x 6\n");
    }
}
