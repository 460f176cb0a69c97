//! The output formats as the application writes them.

use super::encoder::{Edition, Encoder, Page, Part};
use crate::encode::page::{
    PageApplication, PageFolded, PageInfo, PageProcess, PageStage, PageWarning, PAGE_FORMAT,
};
use crate::encode::{comments, page, pprof, ProfileView};
use crate::profile::Profile;

/// pprof files, and the page with its data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Formats;

impl Encoder for Formats {
    fn pprof(&self, profile: &Profile, part: &Part<'_>) -> Vec<u8> {
        pprof::encode(&view(profile, part))
    }

    fn merge(&self, first: &[u8], second: &[u8]) -> Result<Vec<u8>, String> {
        let read = |bytes| pprof::decode(bytes).map_err(|error| error.to_string());
        Ok(pprof::encode(&pprof::merge([read(first)?, read(second)?]).view()))
    }

    fn page(&self, profile: &Profile, part: &Part<'_>, edition: &Edition<'_>) -> Page {
        let info = page_info(part, edition);
        let data = page::data(&view(profile, part), &info);
        let html = page::html(&data, &info.title).into_bytes();
        Page { data, html }
    }
}

fn view<'a>(profile: &'a Profile, part: &'a Part<'_>) -> ProfileView<'a> {
    ProfileView {
        profile,
        filter: part.process,
        from_ns: part.from,
        duration_ns: part.to.saturating_sub(part.from),
        period_ns: part.period,
        comments: comments(part.name, part.engines),
    }
}

fn page_info(part: &Part<'_>, edition: &Edition<'_>) -> PageInfo {
    const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;
    const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;
    let summary = edition.summary;
    let application = &summary.application;
    PageInfo {
        format: PAGE_FORMAT,
        title: application.name.clone(),
        application: PageApplication {
            id: application.id.clone(),
            name: application.name.clone(),
            attempt: application.attempt.clone(),
            spark: application.spark.clone(),
            scala: application.scala.clone(),
        },
        from: part.from / NANOSECONDS_PER_MILLISECOND,
        to: part.to / NANOSECONDS_PER_MILLISECOND,
        seq: edition.number,
        complete: edition.complete,
        engine: part.engines.to_owned(),
        period_us: part.period / NANOSECONDS_PER_MICROSECOND,
        glowplug: summary.glowplug.clone(),
        processes: summary
            .processes
            .iter()
            .map(|process| PageProcess {
                id: process.id.clone(),
                host: process.host.clone(),
                ended: process.ending.clone().unwrap_or_default(),
                own_cpu_s: process.own_cpu_seconds,
                process_cpu_s: process.process_cpu_seconds,
                samples: process.samples.values().sum(),
                lost: process.lost.values().sum(),
            })
            .collect(),
        stages: summary
            .stages
            .iter()
            .map(|stage| PageStage {
                stage: stage.stage,
                attempt: stage.attempt,
                name: stage.name.clone(),
                cpu_ms: stage.cpu_ns / NANOSECONDS_PER_MILLISECOND,
                spark_cpu_ms: stage.spark_cpu_ns / NANOSECONDS_PER_MILLISECOND,
            })
            .collect(),
        warnings: summary
            .warnings
            .iter()
            .map(|warning| PageWarning {
                code: warning.code.clone(),
                message: warning.message.clone(),
                count: warning.count,
            })
            .collect(),
        folded: summary
            .folded
            .iter()
            .map(|folded| PageFolded {
                what: folded.what.clone(),
                count: folded.count,
                weight: folded.weight / NANOSECONDS_PER_MICROSECOND,
            })
            .collect(),
    }
}
