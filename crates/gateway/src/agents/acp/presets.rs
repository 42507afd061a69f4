//! Known agents: how each is started, and which variables of nuncio's own environment it needs.

use crate::config::AcpPreset;

/// How a known agent is started.
pub(super) struct Preset {
    pub(super) command: &'static [&'static str],
    /// Variables that it gets if they are set: where its credentials and settings are.
    pub(super) variables: &'static [&'static str],
}

/// The preset of this name.
pub(super) fn preset(name: AcpPreset) -> Preset {
    let (command, variables): (&[&str], &[&str]) = match name {
        AcpPreset::Claude => (
            &["npx", "-y", "@agentclientprotocol/claude-agent-acp"],
            &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CONFIG_DIR",
            ],
        ),
        AcpPreset::Codex => (
            &["npx", "-y", "@agentclientprotocol/codex-acp"],
            &["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME"],
        ),
        AcpPreset::Gemini => (
            &["gemini", "--experimental-acp"],
            &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"],
        ),
        AcpPreset::Qwen => (
            &["qwen", "--experimental-acp"],
            &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
        ),
        AcpPreset::Cline => (&["cline", "--acp"], &["CLINE_DIR"]),
        AcpPreset::OpenCode => (
            &["opencode", "acp"],
            &["OPENCODE_CONFIG", "XDG_CONFIG_HOME"],
        ),
        AcpPreset::Goose => (&["goose", "acp"], &["GOOSE_PROVIDER", "GOOSE_MODEL"]),
        AcpPreset::Hermes => (&["hermes", "acp"], &["HERMES_HOME"]),
        // Its providers' keys stand in its own settings; only these are read from outside.
        AcpPreset::Kimi => (
            &["kimi", "acp"],
            &[
                "KIMI_CODE_HOME",
                "KIMI_MODEL_NAME",
                "KIMI_MODEL_API_KEY",
                "KIMI_MODEL_BASE_URL",
            ],
        ),
    };
    Preset { command, variables }
}
