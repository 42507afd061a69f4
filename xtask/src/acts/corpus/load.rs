//! Reads a corpus from its manifest: includes in order, rewrites, then the grammar. Never changes a
//! file; an id that comes twice or a key nobody knows ends the run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::rewrite::rewrite_step;
use super::{Corpus, Suite, Test};

/// The file that names the others.
const MANIFEST: &str = "suite.acts.yaml";
/// The major version of the format that this runner reads.
const FORMAT: &str = "1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    acts_version: String,
    #[serde(default)]
    spec_version: Option<String>,
    #[serde(default, rename = "spec_ref")]
    _spec_ref: Option<Value>,
    #[serde(default, rename = "metadata")]
    _metadata: Option<Value>,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    suites: Vec<SuiteForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteForm {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    #[serde(default, rename = "tags")]
    _tags: Vec<String>,
    tests: Vec<Value>,
}

/// Reads the corpus in `folder`; returns it with the number of rewrites it needed.
///
/// # Errors
/// A file that is missing or does not follow the grammar, with its name and what is wrong.
pub fn load(folder: &Path) -> Result<(Corpus, usize)> {
    let mut loading = Loading {
        corpus: Corpus {
            spec_version: String::new(),
            acts_version: String::new(),
            suites: Vec::new(),
            variables: Map::new(),
        },
        rewrites: 0,
        ids: HashSet::new(),
        files: HashSet::new(),
    };
    loading.document(&folder.join(MANIFEST))?;
    Ok((loading.corpus, loading.rewrites))
}

struct Loading {
    corpus: Corpus,
    rewrites: usize,
    ids: HashSet<String>,
    files: HashSet<PathBuf>,
}

impl Loading {
    fn document(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let in_file = || format!("in {}", path.display());
        if !self.files.insert(path.to_path_buf()) {
            bail!("{} is included twice", path.display());
        }
        let document: Document = serde_saphyr::from_str(&text).with_context(in_file)?;
        if document.acts_version.split('.').next() != Some(FORMAT) {
            bail!("format {} is not {FORMAT}.x", document.acts_version);
        }
        if document.include.is_empty() && document.suites.is_empty() {
            bail!("{} has neither include nor suites", path.display());
        }
        if self.corpus.acts_version.is_empty() {
            self.corpus.acts_version = document.acts_version;
            self.corpus.spec_version = document.spec_version.unwrap_or_else(|| "1.0".to_owned());
        }
        self.corpus.variables.extend(document.variables);
        let folder = path.parent().unwrap_or(Path::new("."));
        for file in document.include {
            self.document(&folder.join(file))?;
        }
        for suite in document.suites {
            let suite = self.suite(suite).with_context(in_file)?;
            self.corpus.suites.push(suite);
        }
        Ok(())
    }

    fn suite(&mut self, form: SuiteForm) -> Result<Suite> {
        let mut tests = Vec::new();
        for mut source in form.tests {
            let steps = source.get_mut("steps").and_then(Value::as_array_mut);
            for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
                self.rewrites += rewrite_step(step);
            }
            let test = read_test(source)?;
            if !self.ids.insert(test.id.clone()) {
                bail!("test {} stands there twice", test.id);
            }
            tests.push(test);
        }
        Ok(Suite {
            name: form.name.unwrap_or_else(|| form.id.clone()),
            id: form.id,
            tests,
        })
    }
}

/// One test under the grammar.
///
/// # Errors
/// What the grammar does not allow.
pub fn read_test(source: Value) -> Result<Test> {
    let id = source["id"].as_str().unwrap_or("without id").to_owned();
    let mut test = Test::deserialize(&source).with_context(|| format!("test {id}"))?;
    let mut steps = HashSet::new();
    for step in &test.steps {
        if !steps.insert(step.id.as_str()) {
            bail!("test {id}: step {} stands there twice", step.id);
        }
    }
    test.source = source;
    Ok(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        std::fs::write(folder.join(name), text).unwrap();
    }

    const TEST: &str = "
acts_version: '1.0'
suites:
  - id: a
    tests:
      - {id: T-1, name: one, level: must, steps: [{id: s, operation: get_task, params: {id: x}}]}
";

    #[test]
    fn documents_come_in_the_order_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            MANIFEST,
            "acts_version: '1.0'\nspec_version: '1.0'\ninclude: [b.yaml, a.yaml]",
        );
        write(folder.path(), "a.yaml", TEST);
        write(folder.path(), "b.yaml", &TEST.replace("T-1", "T-0"));
        let (corpus, rewrites) = load(folder.path()).unwrap();
        let ids = corpus.suites.iter().flat_map(|suite| &suite.tests);
        let ids: Vec<_> = ids.map(|test| test.id.as_str()).collect();
        assert_eq!((ids, rewrites), (vec!["T-0", "T-1"], 0));
    }

    #[test]
    fn what_the_grammar_forbids_ends_the_run() {
        let wrong = [
            (TEST.replace("'1.0'", "'2.0'"), "format 2.0"),
            (TEST.replace("level", "lewel"), "lewel"),
            (TEST.replace("get_task", "get_tusk"), "get_tusk"),
            (TEST.replace("operation: get_task, ", ""), "does 0 things"),
            (TEST.replace("level: must", "level: maybe"), "maybe"),
            ("acts_version: '1.0'".to_owned(), "neither include"),
            (
                TEST.replace("params: {id: x}", "params: {id: x}, expct: {}"),
                "expct",
            ),
        ];
        for (text, complaint) in wrong {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), MANIFEST, &text);
            let error = format!("{:#}", load(folder.path()).unwrap_err());
            assert!(error.contains(complaint), "{complaint}: {error}");
        }
    }

    #[test]
    fn an_id_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            MANIFEST,
            "acts_version: '1.0'\ninclude: [a.yaml, b.yaml]",
        );
        write(folder.path(), "a.yaml", TEST);
        write(folder.path(), "b.yaml", TEST);
        let error = format!("{:#}", load(folder.path()).unwrap_err());
        assert!(error.contains("T-1 stands there twice"), "{error}");
    }
}
