//! The known name that is nearest to a misspelt one.

/// The nearest of `known` to `name`; of equally near ones the first. `None` only if `known` is empty.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(name);
    known.min_by_key(|candidate| distance(&wanted, &letters(candidate)))
}

/// The same, but only one that can well have been meant: a third of the letters may be wrong.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(name);
    nearest(name, known).filter(|found| distance(&wanted, &letters(found)) <= 1 + wanted.len() / 3)
}

/// Case and separators are what people get wrong most: they do not count.
fn letters(name: &str) -> Vec<char> {
    // Longer names cannot be near to any of ours, and the distance is quadratic.
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
}

/// Optimal string alignment: insertions, deletions, replacements, swapped neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut two_back: Vec<usize> = vec![0; b.len() + 1];
    let mut back: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = back[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(back[j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(two_back[j - 2] + 1);
            }
        }
        two_back = std::mem::replace(&mut back, row);
    }
    back[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&letters(a), &letters(b))
    }

    #[test]
    fn distances() {
        assert_eq!(between("cpu.interval", "cpu.interval"), 0);
        assert_eq!(between("cpuInterval", "cpu.interval"), 0);
        assert_eq!(between("cpu.intervall", "cpu.interval"), 1);
        assert_eq!(between("cpu.itnerval", "cpu.interval"), 1);
        assert_eq!(between("", "dir"), 3);
        assert_eq!(between("dir", ""), 3);
    }

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["cpu.interval", "wall.interval", "dir", "native.dir"];
        assert_eq!(nearest("cpu.intervall", known.into_iter()), Some("cpu.interval"));
        assert_eq!(nearest("WALL_INTERVAL", known.into_iter()), Some("wall.interval"));
        assert_eq!(nearest("dirs", known.into_iter()), Some("dir"));
        assert_eq!(nearest("x", std::iter::empty()), None);
    }

    #[test]
    fn what_cannot_have_been_meant_is_not_near() {
        let known = ["--stage", "--process", "-n"];
        assert_eq!(near("--stages", known.into_iter()), Some("--stage"));
        assert_eq!(near("--flamegraph", known.into_iter()), None);
        assert_eq!(near("-m", known.into_iter()), Some("-n"));
    }
}
