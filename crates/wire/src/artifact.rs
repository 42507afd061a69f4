//! Artifacts: the results of a task (specification 4.1.7).

use serde::Serialize;

use crate::json::{Metadata, json_object};
use crate::part::{Part, PartContent};

/// A result of a task, whole or a chunk of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within its task; required.
    pub artifact_id: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The content; at least one part.
    pub parts: Vec<Part>,
    /// User JSON about the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// URIs of the extensions that took part in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

json_object!(required Artifact {
    artifact_id: "artifactId" | "artifact_id",
    name: "name",
    description: "description",
    parts: "parts",
    metadata: "metadata",
    extensions: "extensions",
});

impl Artifact {
    /// An artifact with these parts and no labels.
    #[must_use]
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            artifact_id: artifact_id.into(),
            name: None,
            description: None,
            parts,
            metadata: None,
            extensions: Vec::new(),
        }
    }

    /// Takes an appended chunk (`append: true`). Text that continues text of the same kind is
    /// joined, so that a reader of the whole finds one text and not one part per chunk.
    pub fn append(&mut self, chunk: Self) {
        self.name = chunk.name.or_else(|| self.name.take());
        self.description = chunk.description.or_else(|| self.description.take());
        self.metadata = chunk.metadata.or_else(|| self.metadata.take());
        for uri in chunk.extensions {
            if !self.extensions.contains(&uri) {
                self.extensions.push(uri);
            }
        }
        for part in chunk.parts {
            self.append_part(part);
        }
    }

    fn append_part(&mut self, part: Part) {
        if let Some(last) = self.parts.last_mut()
            && last.metadata.is_none()
            && part.metadata.is_none()
            && last.filename == part.filename
            && last.media_type == part.media_type
            && let (PartContent::Text(text), PartContent::Text(more)) =
                (&mut last.content, &part.content)
        {
            text.push_str(more);
            return;
        }
        self.parts.push(part);
    }
}
