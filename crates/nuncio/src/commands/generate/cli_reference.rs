//! `docs/reference/cli.md`, from clap's own description of the command line.

use clap::{Arg, Command};

const HEAD: &str = "\
# The command line

<!-- Made by `nuncio generate cli`; change the commands in `crates/nuncio/src/commands`. -->
";

/// The file.
pub(super) fn text(mut command: Command) -> String {
    command.build();
    let mut text = HEAD.to_owned();
    section(&command, &mut text);
    text
}

fn section(command: &Command, text: &mut String) {
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_owned();
    text.push_str(&format!("\n## {name}\n"));
    let about = command.get_long_about().or(command.get_about());
    if let Some(about) = about {
        text.push_str(&format!(
            "\n{}\n",
            cell(&about.to_string()).replace("<br>", "\n")
        ));
    }
    let usage = command.clone().render_usage().to_string();
    text.push_str(&format!(
        "\n```text\n{}\n```\n",
        usage.trim_start_matches("Usage: ").trim()
    ));
    arguments(command, text);
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        let after = after.to_string();
        match after.trim().strip_prefix("Examples:") {
            Some(examples) => {
                let lines: Vec<&str> = examples.trim().lines().map(str::trim).collect();
                text.push_str(&format!("\n```sh\n{}\n```\n", lines.join("\n")));
            }
            None => text.push_str(&format!("\n{}\n", after.trim())),
        }
    }
    let visible = || {
        command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
    };
    for sub in visible() {
        section(sub, text);
    }
}

fn arguments(command: &Command, text: &mut String) {
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
        .collect();
    if shown.is_empty() {
        return;
    }
    text.push_str("\n| argument | variable | default | meaning |\n|---|---|---|---|\n");
    for arg in shown {
        let help = arg
            .get_long_help()
            .or(arg.get_help())
            .map(ToString::to_string);
        let mut meaning = help.unwrap_or_default();
        // Values that more than one layer may set say so in their own words.
        let told_variable = take_note(&mut meaning, "[env: ");
        let told_default = take_note(&mut meaning, "[default: ");
        let variable = arg
            .get_env()
            .map(|name| name.to_string_lossy().into_owned());
        let variable = variable.or(told_variable).map(|name| format!("`{name}`"));
        let defaults: Vec<_> = arg.get_default_values().iter().collect();
        // A switch has `false` as its default, which says nothing.
        let own_default = defaults.first().filter(|_| arg.get_action().takes_values());
        let default = own_default.map(|value| format!("`{}`", value.to_string_lossy()));
        text.push_str(&format!(
            "| {} | {} | {} | {}{} |\n",
            spelling(arg),
            variable.unwrap_or_default(),
            default.or(told_default).unwrap_or_default(),
            cell(&meaning),
            words(arg),
        ));
    }
}

/// Takes `[default: X]` and its like out of a help text and hands back the X.
fn take_note(help: &mut String, opening: &str) -> Option<String> {
    let start = help.find(opening)?;
    let end = start + help[start..].find(']')?;
    let note = help[start + opening.len()..end].to_owned();
    help.replace_range(start..=end, "");
    Some(note)
}

/// `-o, --output <FORMAT>` or `<NAME>`.
fn spelling(arg: &Arg) -> String {
    let mut spellings = Vec::new();
    spellings.extend(arg.get_short().map(|short| format!("-{short}")));
    spellings.extend(arg.get_long().map(|long| format!("--{long}")));
    for alias in arg.get_visible_aliases().unwrap_or_default() {
        spellings.push(format!("--{alias}"));
    }
    let positional = spellings.is_empty();
    let mut text = spellings.join(", ");
    if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default();
        for name in names {
            let name = if positional {
                format!("<{name}>")
            } else {
                format!(" <{name}>")
            };
            text.push_str(&name);
        }
    }
    format!("`{}`", text.replace('|', "\\|"))
}

/// The words an argument may be, if they are known.
fn words(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    }
}

/// Text as a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.trim()
        .replace('|', "\\|")
        .replace("\n\n", "<br>")
        .replace('\n', " ")
}
