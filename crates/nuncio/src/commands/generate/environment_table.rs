//! `docs/reference/environment.md`, from the table of variables.

use crate::load_config::environment::{Effect, VARIABLES};

const HEAD: &str = "\
# Environment variables

<!-- Made by `nuncio generate environment`; change `crates/nuncio/src/load_config/environment/variables.rs`. -->

An empty variable counts as absent. Variables count before `nuncio.toml`; flags count before
variables. Two variables that set one key to different values are an error that names both.

## nuncio's own

| variable | meaning |
|---|---|
| `NUNCIO_CONFIG` | the configuration file; else `./nuncio.toml`, else `nuncio.toml` in the data directory |
| `NUNCIO_HOME` | the data directory; else `$XDG_DATA_HOME/nuncio`, else `~/.local/share/nuncio` |
| `NO_COLOR` | any value: no colours in the log |

The client commands (`send`, `task`, `card`, `discover`) read `A2ACLI_*` variables; the
[command line](cli.md) names them beside each flag.

## Variables of the Hermes plugins that `nuncio serve` reads

| variable | key | meaning |
|---|---|---|
";

const IGNORED: &str = "
## Variables of the Hermes plugins without a key

Setting one of these changes nothing; `nuncio serve` warns at start.

| variable | why |
|---|---|
";

/// The file.
pub(super) fn text() -> String {
    let mut text = HEAD.to_owned();
    for variable in VARIABLES {
        if let Effect::Sets(key, meaning) = &variable.effect {
            text.push_str(&format!(
                "| `{}` | `{}` | {meaning} |\n",
                variable.name,
                key.path()
            ));
        }
    }
    text.push_str(IGNORED);
    for variable in VARIABLES {
        if let Effect::None(why) = &variable.effect {
            text.push_str(&format!("| `{}` | {why} |\n", variable.name));
        }
    }
    text
}
