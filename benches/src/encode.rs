use crate::tree::filled;
use crate::Operation;
use glowplug::encode::page::{self, PageInfo};
use glowplug::encode::{pprof, ProfileView};
use glowplug::profile::Profile;
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 4] = [
    Operation { name: "encode 1000 stacks as pprof", repeats: 2, prepare: pprof_encode },
    Operation { name: "decode 1000 stacks from pprof", repeats: 2, prepare: pprof_decode },
    Operation { name: "merge two profiles of 1000 stacks", repeats: 2, prepare: merge },
    Operation { name: "encode 1000 stacks as page data", repeats: 2, prepare: page_encode },
];

const STACKS: usize = 1_000;

fn pprof_encode() -> Box<dyn FnMut()> {
    let profile = filled(STACKS);
    Box::new(move || {
        black_box(pprof::encode(&view(&profile)));
    })
}

fn pprof_decode() -> Box<dyn FnMut()> {
    let bytes = pprof::encode(&view(&filled(STACKS)));
    Box::new(move || {
        black_box(pprof::decode(black_box(&bytes)).is_ok());
    })
}

fn merge() -> Box<dyn FnMut()> {
    let profile = filled(STACKS);
    Box::new(move || {
        let mut target = Profile::default();
        pprof::add(&mut target, &profile, &[]);
        pprof::add(&mut target, &profile, &[]);
        black_box(target);
    })
}

fn page_encode() -> Box<dyn FnMut()> {
    let profile = filled(STACKS);
    let info = PageInfo::default();
    Box::new(move || {
        black_box(page::data(&view(&profile), &info));
    })
}

fn view(profile: &Profile) -> ProfileView<'_> {
    ProfileView {
        profile,
        filter: None,
        from_ns: 0,
        duration_ns: 300_000_000_000,
        period_ns: 10_000_000,
        comments: vec![],
    }
}
