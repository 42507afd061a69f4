//! One suite that holds every store to the same promise, and what only a file can break.
//!
//! Cases stand in [`suite`] and are run over each store by [`on_every_store`]; [`model`] runs
//! random sequences against a simple model; [`sqlite`] and [`crash`] are about the file,
//! [`postgres`] and [`cut_answers`] are about the server.

#![allow(clippy::unwrap_used)] // a test may stop at the first surprise

/// Runs each case over a new store of each kind.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $case() {
                super::$case(&crate::stores::TestStore::memory()).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&crate::stores::TestStore::sqlite()).await;
            })+
        }
        /// The same without the recent tasks in memory: every read asks the file.
        mod sqlite_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&crate::stores::TestStore::sqlite_file()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&crate::stores::TestStore::postgres().await).await;
            })+
        }
    };
}

mod crash;
mod cut_answers;
mod model;
mod postgres;
mod postgres_server;
mod postgres_tls;
mod samples;
mod sqlite;
mod stores;
mod suite;
