//! The paths by which 0.3 names tasks and their push configurations.

use crate::dialects::protobuf::wrong::Wrong;

/// `tasks/{id}`.
pub(super) fn task_name(id: &str) -> String {
    format!("tasks/{id}")
}

/// `tasks/{task}/pushNotificationConfigs/{id}`.
pub(super) fn config_name(task: &str, id: &str) -> String {
    format!("tasks/{task}/pushNotificationConfigs/{id}")
}

/// The task's id in either name; what follows it is left alone, as servers of that time do.
pub(super) fn task_of(field: &'static str, name: &str) -> Result<String, Wrong> {
    let id = name
        .strip_prefix("tasks/")
        .and_then(|rest| rest.split('/').next());
    let id = id.filter(|id| !id.is_empty());
    id.map(str::to_owned).ok_or_else(|| Wrong {
        field: field.to_owned(),
        reason: "must be tasks/{id}".to_owned(),
    })
}

/// The task's and the configuration's id; the latter is empty where only the task is named.
pub(super) fn config_of(field: &'static str, name: &str) -> Result<(String, String), Wrong> {
    let task = task_of(field, name)?;
    let rest = name.split('/').skip(2);
    let id = match rest.collect::<Vec<_>>()[..] {
        ["pushNotificationConfigs", id] => id,
        [] => "",
        _ => {
            return Err(Wrong {
                field: field.to_owned(),
                reason: "must be tasks/{id}/pushNotificationConfigs/{id}".to_owned(),
            });
        }
    };
    Ok((task, id.to_owned()))
}
