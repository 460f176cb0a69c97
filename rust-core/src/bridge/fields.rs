//! Strings in a `byte[]`: each a big-endian length of four bytes and UTF-8.

/// Bytes that are not fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes end inside a field")]
pub(crate) struct Truncated;

pub(crate) fn encode<S: AsRef<str>>(fields: impl IntoIterator<Item = S>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        push(&mut bytes, field.as_ref());
    }
    bytes
}

/// The number of fields, the fields, and then a blob as it is.
pub(crate) fn encode_with_blob(fields: &[&str], blob: &[u8]) -> Vec<u8> {
    let mut bytes = (fields.len() as u32).to_be_bytes().to_vec();
    for field in fields {
        push(&mut bytes, field);
    }
    bytes.extend_from_slice(blob);
    bytes
}

pub(crate) fn decode(mut bytes: &[u8]) -> Result<Vec<String>, Truncated> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(Truncated)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (text, rest) = rest.split_at_checked(length).ok_or(Truncated)?;
        fields.push(String::from_utf8_lossy(text).into_owned());
        bytes = rest;
    }
    Ok(fields)
}

/// Pairs of key and value, looked up by key.
pub(crate) struct Pairs(Vec<String>);

impl Pairs {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Pairs, Truncated> {
        decode(bytes).map(Pairs)
    }

    pub(crate) fn of(fields: Vec<String>) -> Pairs {
        Pairs(fields)
    }

    /// The value of a key, empty where there is none.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key) == "true"
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()))
    }
}

fn push(bytes: &mut Vec<u8>, field: &str) {
    bytes.extend_from_slice(&(field.len() as u32).to_be_bytes());
    bytes.extend_from_slice(field.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_were() {
        let fields = ["", "a=b,{\"x\"}", "späte\u{1F525}\0Flamme"];
        assert_eq!(decode(&encode(fields)).expect("whole"), fields);
        assert_eq!(encode(["ab"]), [0, 0, 0, 2, b'a', b'b']);
    }

    #[test]
    fn half_a_field_is_an_error() {
        let bytes = encode(["abc"]);
        for length in 1..bytes.len() {
            assert_eq!(decode(&bytes[..length]), Err(Truncated), "{length} bytes");
        }
        assert_eq!(decode(&[0xff; 8]), Err(Truncated), "a length beyond the end");
    }

    #[test]
    fn a_blob_follows_its_fields_as_it_is() {
        assert_eq!(
            encode_with_blob(&["7", "x"], &[1, 2]),
            [0, 0, 0, 2, 0, 0, 0, 1, b'7', 0, 0, 0, 1, b'x', 1, 2]
        );
    }

    #[test]
    fn pairs_are_found_by_key() {
        let pairs = Pairs::decode(&encode(["role", "driver", "local", "true", "odd"])).expect("whole");
        assert_eq!((pairs.get("role"), pairs.is_true("local"), pairs.get("odd")), ("driver", true, ""));
    }
}
