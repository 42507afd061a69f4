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
        text.push_str(&format!("\n{}\n", after.to_string().trim()));
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
        let variable = arg
            .get_env()
            .map(|name| format!("`{}`", name.to_string_lossy()));
        let defaults: Vec<String> = arg
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        // A switch has `false` as its default, which says nothing.
        let takes_value = arg.get_action().takes_values();
        let default = if takes_value {
            defaults.join(", ")
        } else {
            String::new()
        };
        let help = arg
            .get_long_help()
            .or(arg.get_help())
            .map(ToString::to_string);
        text.push_str(&format!(
            "| {} | {} | {default} | {}{} |\n",
            spelling(arg),
            variable.unwrap_or_default(),
            cell(&help.unwrap_or_default()),
            words(arg),
        ));
    }
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
    format!("`{text}`")
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
        format!(" One of {}.", words.join(", "))
    }
}

/// Text as a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.trim()
        .replace('|', "\\|")
        .replace("\n\n", "<br>")
        .replace('\n', " ")
}
