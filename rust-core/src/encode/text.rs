//! Names as people see them: nothing in them may steer a terminal or turn a line round.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with control, bidirectional and zero-width characters as `\u{..}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// `text` for HTML, in an element or an attribute.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("com.acme.Job.run"), "com.acme.Job.run");
        assert_eq!(visible("a\u{202e}cba\x1b[31m\n"), "a\\u{202e}cba\\u{1b}[31m\\u{a}");
        assert_eq!(visible("日本 🔥"), "日本 🔥");
    }

    #[test]
    fn html_is_escaped() {
        assert_eq!(
            html("</title><script>alert('1')</script>&\"\u{200b}"),
            "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\\u{200b}"
        );
    }
}
