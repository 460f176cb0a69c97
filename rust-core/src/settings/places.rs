//! The places where a setting can be found, and their order.

use super::keys::{find_spelling, Source, PREFIX};
use super::{Origin, Role, Triple};

/// A place where a setting can be found; the smaller one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    OwnConf,
    OwnAgent,
    OwnSystemProperty,
    OwnHadoop,
    Environment,
    /// In a conf form of an environment variable; the number is the form's place among its role's.
    ConfForm(usize),
    InCode,
    WithSparkPrefix,
    SparkHadoop,
    Hadoop,
    /// Also a vendor's property among the options of the agent.
    SystemProperty,
    PassedOn,
}

/// What a triple's key is, once its place is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// A key of ours, without [`PREFIX`].
    Own(&'a str),
    /// A name that may be a vendor's spelling, or nothing of ours at all.
    Vendor(Source, &'a str),
}

impl Place {
    /// Executors get all of the driver's `spark.*` conf, and a conf form speaks of one role alone.
    /// The rest the driver has to hand over.
    pub(crate) fn hidden_from_executors(self) -> bool {
        use Place::*;
        !matches!(self, OwnConf | ConfForm(_) | WithSparkPrefix | SparkHadoop | PassedOn)
    }

    /// Whether the name is that of an environment variable.
    pub(crate) fn holds_environment(self) -> bool {
        matches!(self, Place::Environment | Place::ConfForm(_))
    }
}

/// Where `triple` was found and what its key is there. `None`: it says nothing to a process of `role`.
pub(crate) fn place(triple: &Triple, role: Role) -> Option<(Place, Name<'_>)> {
    let key = triple.key.as_str();
    let own = key.strip_prefix(PREFIX);
    let property = Name::Vendor(Source::Property, key);
    let found = match triple.origin {
        Origin::Conf => {
            own.map_or_else(|| vendor_in_conf(key, role), |name| (Place::OwnConf, Name::Own(name)))
        }
        Origin::Agent if find_spelling(Source::Property, key).is_some() => (Place::SystemProperty, property),
        Origin::Agent => (Place::OwnAgent, Name::Own(own.unwrap_or(key))),
        Origin::Driver => (Place::PassedOn, Name::Own(own.unwrap_or(key))),
        Origin::Environment => (Place::Environment, Name::Vendor(Source::Environment, key)),
        Origin::SystemProperty => {
            own.map_or((Place::SystemProperty, property), |name| (Place::OwnSystemProperty, Name::Own(name)))
        }
        Origin::Hadoop => own.map_or((Place::Hadoop, property), |name| (Place::OwnHadoop, Name::Own(name))),
        Origin::Default => return None,
    };
    Some(found)
}

fn vendor_in_conf(key: &str, role: Role) -> (Place, Name<'_>) {
    let forms = conf_forms(role).iter().enumerate();
    let variable = forms.into_iter().find_map(|(index, form)| Some((index, key.strip_prefix(form)?)));
    if let Some((index, name)) = variable {
        return (Place::ConfForm(index), Name::Vendor(Source::Environment, name));
    }
    if let Some(name) = key.strip_prefix("spark.hadoop.") {
        return (Place::SparkHadoop, Name::Vendor(Source::Property, name));
    }
    match key.strip_prefix("spark.") {
        Some(name) => (Place::WithSparkPrefix, Name::Vendor(Source::Property, name)),
        None => (Place::InCode, Name::Vendor(Source::Property, key)),
    }
}

/// How conf spells the environment of a process. Kubernetes has no form of its own for executors.
pub(crate) fn conf_forms(role: Role) -> &'static [&'static str] {
    match role {
        Role::Executor => &["spark.executorEnv."],
        Role::Driver | Role::Agent => {
            &["spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv.", "spark.emr-serverless.driverEnv."]
        }
    }
}
