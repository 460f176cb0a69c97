//! Folds samples into the call tree, on the sampler thread.

use super::labels::LabelTable;
use crate::facts;
use crate::jvm::{self, MethodId, RawFrame, Vm};
use crate::profile::names::{fold_thread_name, function_name};
use crate::profile::{
    Cells, Dictionary, Engine, Frame, FrameId, LabelKey, LabelSetId, Lost, LostCause, NameId, NodeId,
    Profile, ThreadState, ValueType, Values,
};
use crate::sample::registry::{Registry, Slot, Used};
use crate::sample::runtime::RuntimeCpu;
use crate::sample::sweep::{Found, Leftover, SweepSink};
use crate::sample::{Frames, Kept, RawStack, TaskLabelId, Weight};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The tree of this process, and what is needed to grow it.
pub(crate) struct Collector {
    vm: Arc<dyn Vm + Send + Sync>,
    registry: &'static Registry,
    labels: Arc<LabelTable>,
    profile: Profile,
    epoch: u32,
    methods: FxHashMap<MethodId, Method>,
    /// Rows of all line tables in `methods`.
    lines: usize,
    frames: FxHashMap<RawFrame, FrameId>,
    label_sets: FxHashMap<(TaskLabelId, NameId, Option<ThreadState>), LabelSetId>,
    /// Whether a thread with this stack waits for work.
    idle_stacks: FxHashMap<NodeId, bool>,
    threads: Vec<Thread>,
    /// What threads used with these labels while nobody saw them: it goes to where the next one with the
    /// same labels, and the same name, is seen to run; without labels, to where the same thread is.
    owed: FxHashMap<(TaskLabelId, NameId, Option<Slot>), Used>,
    samples: [u64; ENGINES.len()],
    lost: FxHashMap<LostCause, u64>,
}

const ENGINES: [Engine; 4] = [Engine::Cpu, Engine::Wall, Engine::Alloc, Engine::Runtime];

#[derive(Debug, Clone)]
struct Method {
    function: NameId,
    file: NameId,
    lines: Arc<[(i32, u32)]>,
}

/// What a thread did when it was last seen to change.
#[derive(Debug, Clone, Default)]
struct Thread {
    name: Option<NameId>,
    node: Option<NodeId>,
    state: Option<ThreadState>,
    /// Where its latest CPU sample since the last sweep found it.
    sampled: Option<(NodeId, ThreadState, TaskLabelId)>,
    /// The stack is one of a thread that waits for work.
    waits_for_work: bool,
    label: TaskLabelId,
    wall: u64,
}

impl Collector {
    pub(crate) fn new(
        vm: Arc<dyn Vm + Send + Sync>,
        registry: &'static Registry,
        labels: Arc<LabelTable>,
    ) -> Collector {
        Collector {
            vm,
            registry,
            labels,
            profile: Profile::default(),
            epoch: 1,
            methods: FxHashMap::default(),
            lines: 0,
            frames: FxHashMap::default(),
            label_sets: FxHashMap::default(),
            idle_stacks: FxHashMap::default(),
            threads: Vec::new(),
            owed: FxHashMap::default(),
            samples: [0; ENGINES.len()],
            lost: FxHashMap::default(),
        }
    }

    /// Folds one sample of the ring.
    pub(crate) fn add(&mut self, stack: &RawStack) {
        let (engine, values) = match stack.weight {
            Weight::Cpu(nanoseconds) => (Engine::Cpu, Values::cpu(1, nanoseconds)),
            Weight::Alloc { objects, bytes } => {
                let mut values = Values::of(ValueType::AllocObjects, objects);
                values.add(&Values::of(ValueType::AllocSpace, bytes));
                (Engine::Alloc, values)
            }
        };
        self.samples[engine as usize] += 1;
        let node = match &stack.frames {
            Frames::Whole(frames) => self.sampled_node(stack, Kept { leaf: frames, root: None }),
            Frames::Cut { frames, leaf } => {
                let (leaf, root) = frames.split_at(*leaf);
                self.sampled_node(stack, Kept { leaf, root: Some(root) })
            }
            Frames::NotWalkable(_) => {
                self.lose(LostCause::NotWalkable, 1);
                self.root("[unknown]")
            }
            Frames::NoScratch => {
                self.lose(LostCause::NoScratch, 1);
                self.root("[unknown]")
            }
        };
        let set = self.label_set(stack.thread, stack.label, None);
        self.profile.cells.add(node, set, &values);
    }

    /// The thread in this slot has ended.
    pub(crate) fn forget(&mut self, slot: Slot, left: Leftover) {
        let unseen = left.used;
        if left.rested > 0 {
            // It may have woken at its end: then it is where a sample saw it last, as a thread is that lives on.
            let label = self.ran(slot).unwrap_or(self.thread(slot).label);
            self.wall(slot, label, left.rested);
        }
        self.thread(slot);
        self.flush_wall(slot.0 as usize);
        if unseen != Used::default() {
            // Where it was last, if it was ever seen; short threads never are.
            let node = self.thread(slot).node;
            let node = node.unwrap_or_else(|| self.root("[unknown]"));
            let thread = self.thread(slot);
            let (name, label) = (thread.name.unwrap_or_default(), thread.label);
            self.settle(node, label, name, unseen);
        }
        *self.thread(slot) = Thread::default();
    }

    /// Charges CPU of a thread that is not Java's.
    pub(crate) fn add_runtime(&mut self, cpu: &RuntimeCpu) {
        self.samples[Engine::Runtime as usize] += 1;
        let node = self.root(cpu.root);
        let thread = self.profile.dictionary.name(&fold_thread_name(cpu.thread));
        let set = self.label_set_of(TaskLabelId(0), thread, None);
        self.profile.cells.add(node, set, &Values::of(ValueType::Cpu, cpu.nanoseconds));
    }

    /// Charges CPU whose stacks were lost with a full ring.
    pub(crate) fn add_lost(&mut self, count: u64, nanoseconds: u64) {
        self.lose(LostCause::RingFull, count);
        let node = self.root("[unknown]");
        self.profile.cells.add(node, Dictionary::NO_LABELS, &Values::of(ValueType::Cpu, nanoseconds));
    }

    /// Takes the values since the last call; the dictionary goes on growing.
    pub(crate) fn take_cells(&mut self) -> Cells {
        for index in 0..self.threads.len() {
            self.flush_wall(index);
        }
        for ((label, name, _), used) in std::mem::take(&mut self.owed) {
            let unknown = self.root("[unknown]");
            self.settle(unknown, label, name, used);
        }
        self.profile.cells.take()
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.profile.dictionary
    }

    /// Number of the present dictionary, from 1.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Starts with an empty dictionary; all values must have been taken.
    pub(crate) fn start_epoch(&mut self) {
        self.profile = Profile::default();
        self.epoch += 1;
        self.methods.clear();
        self.lines = 0;
        self.frames.clear();
        self.label_sets.clear();
        self.idle_stacks.clear();
        self.threads.clear();
    }

    /// Samples by engine since the start of the process.
    pub(crate) fn samples(&self) -> Vec<(Engine, u64)> {
        ENGINES.into_iter().zip(self.samples).collect()
    }

    /// Losses by cause since the start of the process.
    pub(crate) fn lost(&self) -> Vec<Lost> {
        let mut lost: Vec<Lost> =
            self.lost.iter().map(|(cause, count)| Lost { cause: *cause, count: *count }).collect();
        lost.sort_by_key(|lost| lost.cause);
        lost
    }

    /// Estimated bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        const ROW: usize = 24;
        self.profile.dictionary.memory()
            + self.profile.cells.memory()
            + (self.frames.len() + self.idle_stacks.len()) * ROW
            + self.methods.len() * 3 * ROW
            + self.lines * size_of::<(i32, u32)>()
    }

    /// The node of a sample; a CPU sample also tells where its thread is.
    fn sampled_node(&mut self, stack: &RawStack, frames: Kept<'_, RawFrame>) -> NodeId {
        let node = self.node(frames);
        if let (Weight::Cpu(_), Some(leaf)) = (stack.weight, frames.leaf.first()) {
            let state = if leaf.bci < 0 { ThreadState::Native } else { ThreadState::Runnable };
            self.thread(stack.thread).sampled = Some((node, state, stack.label));
        }
        node
    }

    fn node(&mut self, frames: Kept<'_, RawFrame>) -> NodeId {
        let mut node = Dictionary::ROOT;
        if let Some(root) = frames.root {
            node = self.below(node, root);
            node = self.bracketed(node, "[truncated]");
        }
        self.below(node, frames.leaf)
    }

    /// The node at the end of these frames, the last of which `node` has called.
    fn below(&mut self, mut node: NodeId, frames: &[RawFrame]) -> NodeId {
        for frame in frames.iter().rev() {
            let frame = self.frame(*frame);
            node = self.profile.dictionary.child(node, frame);
        }
        node
    }

    fn root(&mut self, name: &str) -> NodeId {
        self.bracketed(Dictionary::ROOT, name)
    }

    fn bracketed(&mut self, parent: NodeId, name: &str) -> NodeId {
        let dictionary = &mut self.profile.dictionary;
        let function = dictionary.name(name);
        let frame = dictionary.frame(Frame { function, file: NameId(0), line: 0 });
        dictionary.child(parent, frame)
    }

    fn frame(&mut self, raw: RawFrame) -> FrameId {
        if let Some(known) = self.frames.get(&raw) {
            return *known;
        }
        let method = self.method(raw.method);
        let line = jvm::line_at(&method.lines, raw.bci);
        let frame = Frame { function: method.function, file: method.file, line };
        let id = self.profile.dictionary.frame(frame);
        self.frames.insert(raw, id);
        id
    }

    fn method(&mut self, id: MethodId) -> Method {
        if let Some(known) = self.methods.get(&id) {
            return known.clone();
        }
        let dictionary = &mut self.profile.dictionary;
        let method = match self.vm.method(id) {
            Some(info) => Method {
                function: dictionary.name(&function_name(&info.class_signature, &info.name)),
                file: dictionary.name(info.file.as_deref().unwrap_or("")),
                lines: info.lines.into(),
            },
            None => {
                *self.lost.entry(LostCause::NameLost).or_default() += 1;
                let function = dictionary.name("[unknown]");
                Method { function, file: NameId(0), lines: Arc::new([]) }
            }
        };
        self.lines += method.lines.len();
        self.methods.insert(id, method.clone());
        method
    }

    fn label_set(&mut self, slot: Slot, label: TaskLabelId, state: Option<ThreadState>) -> LabelSetId {
        let name = self.name_of(slot);
        self.label_set_of(label, name, state)
    }

    fn name_of(&mut self, slot: Slot) -> NameId {
        if let Some(name) = self.thread(slot).name {
            return name;
        }
        let reference = self.registry.record(slot).and_then(|record| record.reference());
        let name = reference.and_then(|thread| self.vm.thread_name(thread)).unwrap_or_default();
        self.set_name(slot, &name)
    }

    fn label_set_of(&mut self, label: TaskLabelId, thread: NameId, state: Option<ThreadState>) -> LabelSetId {
        if let Some(known) = self.label_sets.get(&(label, thread, state)) {
            return *known;
        }
        let dictionary = &mut self.profile.dictionary;
        let mut pairs = vec![(dictionary.name(LabelKey::Thread.as_str()), thread)];
        if let Some(state) = state {
            pairs.push((dictionary.name(LabelKey::ThreadState.as_str()), dictionary.name(state.as_str())));
        }
        if let Some(labels) = self.labels.labels(label) {
            for (key, value) in &labels.0 {
                pairs.push((dictionary.name(key), dictionary.name(value)));
            }
        }
        let set = dictionary.label_set(&pairs);
        self.label_sets.insert((label, thread, state), set);
        set
    }

    fn set_name(&mut self, slot: Slot, name: &str) -> NameId {
        let name = self.profile.dictionary.name(&fold_thread_name(name));
        self.thread(slot).name = Some(name);
        name
    }

    fn thread(&mut self, slot: Slot) -> &mut Thread {
        let index = slot.0 as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    fn flush_wall(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let wall = std::mem::take(&mut thread.wall);
        let (Some(node), Some(state)) = (thread.node, thread.state) else { return };
        if wall == 0 {
            return;
        }
        let label = thread.label;
        // A thread that runs a task is never idle, whatever it waits for.
        let state = if thread.waits_for_work && label == TaskLabelId(0) { ThreadState::Idle } else { state };
        let set = self.label_set(Slot(index as u32), label, Some(state));
        self.profile.cells.add(node, set, &Values::of(ValueType::Wall, wall));
    }

    fn lose(&mut self, cause: LostCause, count: u64) {
        *self.lost.entry(cause).or_default() += count;
    }
}

impl SweepSink for Collector {
    fn named(&mut self, slot: Slot, name: &str) {
        let index = slot.0 as usize;
        self.thread(slot);
        self.flush_wall(index);
        self.set_name(slot, name);
    }

    fn changed(&mut self, slot: Slot, found: Option<Found<'_>>) {
        self.thread(slot);
        self.flush_wall(slot.0 as usize);
        let (node, state, waits_for_work) = match found {
            Some(found) if !found.frames.leaf.is_empty() => {
                let node = self.node(found.frames);
                (node, found.state, self.waits_for_work(node, found))
            }
            // A thread with no Java frame is the JVM's own, and has not run code of anybody's.
            Some(found) => (self.root("[VM]"), found.state, true),
            None => (self.root("[unknown]"), ThreadState::Runnable, false),
        };
        let thread = self.thread(slot);
        (thread.node, thread.state, thread.waits_for_work) = (Some(node), Some(state), waits_for_work);
        thread.sampled = None;
    }

    fn ran(&mut self, slot: Slot) -> Option<TaskLabelId> {
        let (node, state, label) = self.thread(slot).sampled.take()?;
        self.flush_wall(slot.0 as usize);
        let thread = self.thread(slot);
        (thread.node, thread.state, thread.waits_for_work) = (Some(node), Some(state), false);
        Some(label)
    }

    fn wall(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64) {
        self.samples[Engine::Wall as usize] += 1;
        if self.thread(slot).label != label {
            self.flush_wall(slot.0 as usize);
            self.thread(slot).label = label;
        }
        self.thread(slot).wall += nanoseconds;
    }

    fn cpu(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64) {
        self.charge(slot, label, Engine::Cpu, Values::cpu(1, nanoseconds));
        let key = self.owed_by(slot, label);
        if let (Some(node), Some(used)) = (self.thread(slot).node, self.owed.remove(&key)) {
            self.settle(node, label, key.1, used);
        }
    }

    fn unseen(&mut self, slot: Slot, label: TaskLabelId, used: Used) {
        let key = self.owed_by(slot, label);
        let owed = self.owed.entry(key).or_default();
        owed.cpu += used.cpu;
        owed.allocated += used.allocated;
    }

    fn allocated(&mut self, slot: Slot, label: TaskLabelId, bytes: u64) {
        self.charge(slot, label, Engine::Alloc, Values::of(ValueType::AllocSpace, bytes));
    }
}

impl Collector {
    fn owed_by(&mut self, slot: Slot, label: TaskLabelId) -> (TaskLabelId, NameId, Option<Slot>) {
        (label, self.name_of(slot), (label == TaskLabelId(0)).then_some(slot))
    }

    fn settle(&mut self, node: NodeId, label: TaskLabelId, thread: NameId, used: Used) {
        let set = self.label_set_of(label, thread, None);
        let mut values = Values::of(ValueType::Cpu, used.cpu);
        values.add(&Values::of(ValueType::AllocSpace, used.allocated));
        self.profile.cells.add(node, set, &values);
    }

    /// Adds one sample of a sweep where the thread is now.
    fn charge(&mut self, slot: Slot, label: TaskLabelId, engine: Engine, values: Values) {
        self.samples[engine as usize] += 1;
        let node = match self.thread(slot).node {
            Some(node) => node,
            None => self.root("[unknown]"),
        };
        let set = self.label_set(slot, label, None);
        self.profile.cells.add(node, set, &values);
    }

    fn waits_for_work(&mut self, node: NodeId, found: Found<'_>) -> bool {
        // The JVM's own waits (the reference handler's, say) are RUNNABLE to JVMTI.
        if found.state == ThreadState::Blocked {
            return false;
        }
        if let Some(known) = self.idle_stacks.get(&node) {
            return *known;
        }
        let functions: Vec<NameId> =
            found.frames.leaf.iter().map(|frame| self.method(frame.method).function).collect();
        let idle = facts::is_idle_stack(functions.iter().map(|name| self.profile.dictionary.text(*name)));
        self.idle_stacks.insert(node, idle);
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{shared, Stage};
    use super::*;

    fn collector() -> Collector {
        let shared = shared(&Arc::new(Stage::default()));
        Collector::new(shared.vm.clone(), shared.registry, shared.labels.clone())
    }

    fn frames(methods: &[u64]) -> Vec<RawFrame> {
        methods.iter().map(|method| RawFrame { method: MethodId(*method), bci: 0 }).collect()
    }

    /// Every stack with what was measured there, root first.
    fn stacks(collector: &mut Collector) -> Vec<(String, Values)> {
        let cells = collector.take_cells();
        let dictionary = collector.dictionary();
        let name = |frame| dictionary.text(dictionary.frame_of(frame).function).to_owned();
        let rows = cells.sorted().into_iter().map(|((node, _), values)| {
            let path: Vec<String> = dictionary.path(node).into_iter().map(name).collect();
            (path.join(" "), values)
        });
        rows.collect()
    }

    #[test]
    fn a_cut_stack_has_its_root_and_its_leaf_around_the_mark() {
        let mut collector = collector();
        let sample = |frames: Frames| RawStack {
            weight: Weight::Cpu(7),
            thread: Slot(0),
            label: TaskLabelId(0),
            time: 1,
            frames,
        };
        collector.add(&sample(Frames::Cut { frames: frames(&[1, 2, 3, 8, 9]), leaf: 3 }));
        collector.add(&sample(Frames::Cut { frames: frames(&[4, 5]), leaf: 2 }));
        assert_eq!(
            stacks(&mut collector),
            [
                ("App.m9 App.m8 [truncated] App.m3 App.m2 App.m1".to_owned(), Values::cpu(1, 7)),
                ("[truncated] App.m5 App.m4".to_owned(), Values::cpu(1, 7)),
            ]
        );
    }

    #[test]
    fn a_thread_that_waits_deep_down_has_its_wall_time_under_its_root() {
        let mut collector = collector();
        let (leaf, root) = (frames(&[1, 2, 3]), frames(&[9]));
        let kept = Kept { leaf: &leaf[..], root: Some(&root[..]) };
        collector.changed(Slot(0), Some(Found { state: ThreadState::Waiting, frames: kept }));
        collector.wall(Slot(0), TaskLabelId(0), 50);
        assert_eq!(
            stacks(&mut collector),
            [("App.m9 [truncated] App.m3 App.m2 App.m1".to_owned(), Values::of(ValueType::Wall, 50))]
        );
    }

    #[test]
    fn what_a_thread_rested_before_its_end_stands_where_it_was_last() {
        let mut collector = collector();
        let leaves = |rested| Leftover { used: Used::default(), rested };
        let (waits, works) = (frames(&[1, 9]), frames(&[2, 9]));
        for slot in [Slot(0), Slot(1)] {
            let found = Found { state: ThreadState::Waiting, frames: Kept { leaf: &waits[..], root: None } };
            collector.changed(slot, Some(found));
            collector.wall(slot, TaskLabelId(0), 50);
        }
        collector.add(&RawStack {
            weight: Weight::Cpu(7),
            thread: Slot(1),
            label: TaskLabelId(0),
            time: 1,
            frames: Frames::Whole(works),
        });
        collector.forget(Slot(0), leaves(30));
        collector.forget(Slot(1), leaves(5));
        let total = |rows: &[(String, Values)], stack: &str, value| {
            rows.iter().filter(|(found, _)| found == stack).map(|(_, values)| values.get(value)).sum::<u64>()
        };
        let rows = stacks(&mut collector);
        assert_eq!(total(&rows, "App.m9 App.m1", ValueType::Wall), 50 + 30 + 50);
        assert_eq!(total(&rows, "App.m9 App.m2", ValueType::Wall), 5, "it woke");
        assert_eq!(total(&rows, "App.m9 App.m2", ValueType::Cpu), 7);
    }

    #[test]
    fn what_a_full_ring_lost_keeps_its_weight_and_is_counted() {
        let mut collector = collector();
        collector.add_lost(3, 30_000_000);
        collector.add_lost(1, 10_000_000);
        assert_eq!(
            stacks(&mut collector),
            [("[unknown]".to_owned(), Values::of(ValueType::Cpu, 40_000_000))]
        );
        assert_eq!(collector.lost(), [Lost { cause: LostCause::RingFull, count: 4 }]);
    }
}
