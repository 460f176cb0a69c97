//! Append-only tables: strings, frames, tree nodes, label sets.

use rustc_hash::FxHashMap;

/// Index of an interned string. Id 0 is the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NameId(pub u32);

/// Index of an interned frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// Index of a tree node. Id 0 is the root, which has no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Index of an interned label set. Id 0 is the empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LabelSetId(pub u32);

/// One place in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// `package.Class.method`, already folded, or a bracketed root such as `[GC]`.
    pub function: NameId,
    /// The class's SourceFile, or the empty name.
    pub file: NameId,
    /// Line number, 0 where it is not known.
    pub line: u32,
}

/// One node of the call tree; its parent's id is always smaller than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller.
    pub parent: NodeId,
    /// What runs here.
    pub frame: FrameId,
}

/// How far each table had grown at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// Strings known.
    pub strings: u32,
    /// Frames known.
    pub frames: u32,
    /// Nodes known.
    pub nodes: u32,
    /// Label sets known.
    pub label_sets: u32,
}

/// What was appended after a mark, as plain rows whose ids go on from that mark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DictionaryPart {
    /// Where the rows begin.
    pub base: Mark,
    /// New strings.
    pub strings: Vec<String>,
    /// New frames.
    pub frames: Vec<Frame>,
    /// New nodes.
    pub nodes: Vec<Node>,
    /// New label sets, each sorted by key.
    pub label_sets: Vec<Vec<(NameId, NameId)>>,
}

impl DictionaryPart {
    /// Where the rows end: the base of the part that follows.
    pub fn end(&self) -> Mark {
        Mark {
            strings: self.base.strings + self.strings.len() as u32,
            frames: self.base.frames + self.frames.len() as u32,
            nodes: self.base.nodes + self.nodes.len() as u32,
            label_sets: self.base.label_sets + self.label_sets.len() as u32,
        }
    }
}

/// The tables and their look-ups.
#[derive(Debug, Clone)]
pub struct Dictionary {
    strings: Vec<Box<str>>,
    string_ids: FxHashMap<Box<str>, NameId>,
    frames: Vec<Frame>,
    frame_ids: FxHashMap<Frame, FrameId>,
    nodes: Vec<Node>,
    node_ids: FxHashMap<Node, NodeId>,
    label_sets: Vec<Box<[(NameId, NameId)]>>,
    label_set_ids: FxHashMap<Box<[(NameId, NameId)]>, LabelSetId>,
    string_bytes: usize,
}

impl Dictionary {
    /// The root of the tree.
    pub const ROOT: NodeId = NodeId(0);
    /// The label set with no labels.
    pub const NO_LABELS: LabelSetId = LabelSetId(0);

    /// Interns a string.
    pub fn name(&mut self, text: &str) -> NameId {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = NameId(self.strings.len() as u32);
        self.string_bytes += text.len();
        self.strings.push(text.into());
        self.string_ids.insert(text.into(), id);
        id
    }

    /// Interns a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        let next = FrameId(self.frames.len() as u32);
        let id = *self.frame_ids.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// The child of `parent` that runs `frame`.
    pub fn child(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        let next = NodeId(self.nodes.len() as u32);
        let node = Node { parent, frame };
        let id = *self.node_ids.entry(node).or_insert(next);
        if id == next {
            self.nodes.push(node);
        }
        id
    }

    /// Interns a label set; the order of `labels` does not matter, a repeated key keeps its last
    /// value, and an empty value drops the key.
    pub fn label_set(&mut self, labels: &[(NameId, NameId)]) -> LabelSetId {
        let mut sorted: Vec<(NameId, NameId)> = Vec::with_capacity(labels.len());
        for &(key, value) in labels {
            sorted.retain(|(known, _)| *known != key);
            if value != NameId(0) {
                sorted.push((key, value));
            }
        }
        sorted.sort_unstable();
        if let Some(id) = self.label_set_ids.get(sorted.as_slice()) {
            return *id;
        }
        let id = LabelSetId(self.label_sets.len() as u32);
        self.label_sets.push(sorted.clone().into());
        self.label_set_ids.insert(sorted.into(), id);
        id
    }

    /// The text behind a name.
    pub fn text(&self, id: NameId) -> &str {
        &self.strings[id.0 as usize]
    }

    /// The id of a string that may not be interned yet.
    pub fn find_name(&self, text: &str) -> Option<NameId> {
        self.string_ids.get(text).copied()
    }

    /// The frame behind an id.
    pub fn frame_of(&self, id: FrameId) -> Frame {
        self.frames[id.0 as usize]
    }

    /// The node behind an id; the root answers itself as parent and has no meaningful frame.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    /// The labels of a set, sorted by key id.
    pub fn labels(&self, id: LabelSetId) -> &[(NameId, NameId)] {
        &self.label_sets[id.0 as usize]
    }

    /// The value of one label in a set.
    pub fn label(&self, id: LabelSetId, key: &str) -> Option<&str> {
        let key = self.find_name(key)?;
        let (_, value) = self.labels(id).iter().find(|(known, _)| *known == key)?;
        Some(self.text(*value))
    }

    /// The frames of a node's path, root first.
    pub fn path(&self, mut id: NodeId) -> Vec<FrameId> {
        let mut path = Vec::new();
        while id != Self::ROOT {
            let node = self.node(id);
            path.push(node.frame);
            id = node.parent;
        }
        path.reverse();
        path
    }

    /// How far the tables have grown.
    pub fn mark(&self) -> Mark {
        Mark {
            strings: self.strings.len() as u32,
            frames: self.frames.len() as u32,
            nodes: self.nodes.len() as u32,
            label_sets: self.label_sets.len() as u32,
        }
    }

    /// The rows appended since `base`.
    pub fn since(&self, base: Mark) -> DictionaryPart {
        DictionaryPart {
            base,
            strings: self.strings[base.strings as usize..].iter().map(|text| text.to_string()).collect(),
            frames: self.frames[base.frames as usize..].to_vec(),
            nodes: self.nodes[base.nodes as usize..].to_vec(),
            label_sets: self.label_sets[base.label_sets as usize..].iter().map(|set| set.to_vec()).collect(),
        }
    }

    /// Estimated bytes on the heap: each row is held by a table and by its look-up.
    pub fn memory(&self) -> usize {
        const MAP_OVERHEAD: usize = 8;
        2 * self.string_bytes
            + self.strings.len() * (2 * size_of::<Box<str>>() + MAP_OVERHEAD)
            + self.frames.len() * (2 * size_of::<Frame>() + MAP_OVERHEAD)
            + self.nodes.len() * (2 * size_of::<Node>() + MAP_OVERHEAD)
            + self.label_sets.iter().map(|set| 2 * (16 + set.len() * 8) + MAP_OVERHEAD).sum::<usize>()
    }
}

impl Default for Dictionary {
    /// Tables that hold the empty string, the root and the empty label set.
    fn default() -> Self {
        let mut dictionary = Dictionary {
            strings: Vec::new(),
            string_ids: FxHashMap::default(),
            frames: Vec::new(),
            frame_ids: FxHashMap::default(),
            nodes: Vec::new(),
            node_ids: FxHashMap::default(),
            label_sets: Vec::new(),
            label_set_ids: FxHashMap::default(),
            string_bytes: 0,
        };
        let empty = dictionary.name("");
        let nothing = dictionary.frame(Frame { function: empty, file: empty, line: 0 });
        // The root is its own parent and is not in the look-up, so no child can collide with it.
        dictionary.nodes.push(Node { parent: NodeId(0), frame: nothing });
        dictionary.label_set(&[]);
        dictionary
    }
}
