//! A PostgreSQL server for tests: made in a temporary folder, run by an unprivileged user, reached
//! over a Unix socket.
//!
//! One server is shared by all test processes, each test has a database of its own in it; it ends
//! some seconds after the last of them. A test that breaks its server has one of its own. Where
//! PostgreSQL is missing, tests fail and say what to install.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Whom a server belongs to when the tests run as root, whom PostgreSQL refuses: `nobody`.
const NOBODY: u32 = 65534;
/// The role of the tests.
const ROLE: &str = "nuncio";
/// A role that needs [`PASSWORD`].
pub const GUARDED_ROLE: &str = "guarded";
/// The password of [`GUARDED_ROLE`].
pub const PASSWORD: &str = "open sesame";

/// Fast rather than safe from loss of power, which no test can try.
const SETTINGS: &str = "\
listen_addresses = ''
max_connections = 300
shared_buffers = 32MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
";

/// Ends the shared server and removes its folder when no test has used it for some seconds.
const WATCH: &str = r#"
while sleep 10; do
    if flock start.lock sh -c 'flock -n users.lock "$0" -D data -m immediate stop' "$PG_CTL"; then
        rm -rf data log; exit
    fi
done
"#;

/// A server that runs.
pub struct Server {
    directory: PathBuf,
    /// Removed with the server, if it belongs to one test.
    own: Option<tempfile::TempDir>,
}

/// A database of one test; dropped with this.
pub struct Database {
    directory: PathBuf,
    name: String,
}

impl Database {
    /// A new database on the shared server.
    pub fn new() -> Self {
        Self::on(Server::shared())
    }

    /// A new database on this server.
    pub fn on(server: &Server) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let directory = server.directory.clone();
        run(client(&directory, "createdb").arg(&name));
        Self { directory, name }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL for a role.
    pub fn url_of(&self, role: &str) -> String {
        let directory = self.directory.display();
        format!("postgres://{role}@/{}?host={directory}", self.name)
    }

    pub fn url(&self) -> String {
        self.url_of(ROLE)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server that a test has broken has nothing left to drop.
        let _ = client(&self.directory, "dropdb")
            .args(["--force", "--if-exists", &self.name])
            .status();
    }
}

impl Server {
    /// The server of all tests.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<(Server, File)> = OnceLock::new();
        let (server, _in_use) = SHARED.get_or_init(|| {
            let user = fs::metadata(own_folder().path()).unwrap().uid();
            let directory = std::env::temp_dir().join(format!("nuncio-test-postgres-{user}"));
            make_folder(&directory);
            let start = lock_file(&directory, "start.lock");
            start.lock().unwrap();
            let users = lock_file(&directory, "users.lock");
            users.lock_shared().unwrap();
            let server = Self {
                directory,
                own: None,
            };
            if UnixStream::connect(server.socket()).is_err() {
                let data = server.directory.join("data");
                if data.is_dir() {
                    fs::remove_dir_all(&data).unwrap();
                }
                server.make();
                server.start();
                server.watch();
            }
            (server, users)
        });
        server
    }

    /// A server of one test.
    pub fn own() -> Self {
        let own = own_folder();
        let server = Self {
            directory: own.path().to_owned(),
            own: Some(own),
        };
        give_to_user(&server.directory);
        server.make();
        server.start();
        server
    }

    /// A server of one test that is reached over TLS alone, at `address` with port 5432.
    pub fn own_with_tls(address: &str, certificate: &str, key: &str) -> Self {
        let own = own_folder();
        let server = Self {
            directory: own.path().to_owned(),
            own: Some(own),
        };
        give_to_user(&server.directory);
        server.make();
        let data = server.directory.join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            fs::write(data.join(name), text).unwrap();
            give_to_user(&data.join(name));
            fs::set_permissions(data.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        append(
            &data.join("postgresql.conf"),
            &format!("ssl = on\nlisten_addresses = '{address}'\n"),
        );
        append(
            &data.join("pg_hba.conf"),
            "hostssl all all all scram-sha-256\n",
        );
        server.start();
        server
    }

    /// Where its socket is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn socket(&self) -> PathBuf {
        self.directory.join(".s.PGSQL.5432")
    }

    fn make(&self) {
        let data = self.directory.join("data");
        let mut initdb = program(&self.directory, "initdb");
        initdb.arg("-D").arg(&data);
        run(initdb.args([
            "-U",
            ROLE,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]));
        let socket = self.directory.display();
        append(
            &data.join("postgresql.conf"),
            &format!("{SETTINGS}unix_socket_directories = '{socket}'\n"),
        );
        let rules = format!("local all {GUARDED_ROLE} scram-sha-256\nlocal all all trust\n");
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
    }

    pub fn start(&self) {
        let log = self.directory.join("log");
        let mut start = self.pg_ctl();
        run(start.arg("-l").arg(&log).args(["-w", "start"]));
        let guarded = format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{GUARDED_ROLE}') \
             THEN CREATE ROLE {GUARDED_ROLE} LOGIN PASSWORD '{PASSWORD}'; END IF; END $$"
        );
        self.psql("postgres", &guarded);
    }

    /// Stops it: `fast` ends sessions, `immediate` is a crash.
    pub fn stop(&self, mode: &str) {
        run(self.pg_ctl().args(["-m", mode, "-w", "stop"]));
    }

    /// Runs statements as the administrator and returns what they print.
    pub fn psql(&self, database: &str, statements: &str) -> String {
        let mut psql = client(&self.directory, "psql");
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statements, database]);
        run(&mut psql)
    }

    fn pg_ctl(&self) -> Command {
        let mut pg_ctl = program(&self.directory, "pg_ctl");
        pg_ctl.arg("-D").arg(self.directory.join("data"));
        pg_ctl
    }

    fn watch(&self) {
        let mut watch = Command::new("sh");
        watch
            .args(["-c", WATCH])
            .env("PG_CTL", find("pg_ctl"))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        as_user(&mut watch, &self.directory);
        // It outlives this process; its end is the end of the last test.
        drop(watch.spawn().unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.own.is_some() {
            let _ = self.pg_ctl().args(["-m", "immediate", "stop"]).status();
        }
    }
}

fn append(file: &Path, text: &str) {
    let mut file = File::options().append(true).open(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn own_folder() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("nuncio-postgres-")
        .tempdir()
        .unwrap()
}

/// Makes the folder of the shared server, or takes it if it is ours.
fn make_folder(directory: &Path) {
    match fs::create_dir(directory) {
        Ok(()) => give_to_user(directory),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // The one who makes it may be about to give it away.
            let owner = fs::symlink_metadata(directory).unwrap();
            let own = fs::metadata("/proc/self").map_or(owner.uid(), |me| me.uid());
            assert!(
                owner.is_dir() && (owner.uid() == own || owner.uid() == NOBODY),
                "{} belongs to somebody else; remove it",
                directory.display()
            );
        }
        Err(error) => panic!("{}: {error}", directory.display()),
    }
}

fn lock_file(directory: &Path, name: &str) -> File {
    let path = directory.join(name);
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    give_to_user(&path);
    file
}

/// The files of a server belong to an unprivileged user, also when the tests run as root.
fn give_to_user(path: &Path) {
    let data = fs::metadata(path).unwrap();
    if data.uid() == 0 {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    if data.is_dir() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// Runs a command as the user to whom the folder belongs.
fn as_user(command: &mut Command, directory: &Path) {
    let owner = fs::metadata(directory).unwrap().uid();
    if owner == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// A program of the server.
fn program(directory: &Path, name: &str) -> Command {
    let mut command = Command::new(find(name));
    command.current_dir(directory).env("LC_ALL", "C");
    as_user(&mut command, directory);
    command
}

/// A program that connects as the administrator.
fn client(directory: &Path, name: &str) -> Command {
    let mut command = program(directory, name);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("PGHOST", directory)
        .env("PGPORT", "5432")
        .env("PGUSER", ROLE);
    command
}

fn find(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let mut found = folders.into_iter().map(|folder| folder.join(name));
    found.find(|file| file.is_file()).unwrap_or_else(|| {
        panic!(
            "the tests need PostgreSQL's {name}, in PATH or /usr/lib/postgresql/*/bin; on Debian \
             or Ubuntu: `apt-get install postgresql`"
        )
    })
}

fn run(command: &mut Command) -> String {
    let log = own_folder();
    let (out, err) = (log.path().join("out"), log.path().join("err"));
    // Not pipes: a server would keep them open.
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap());
    let status = command.status().unwrap();
    let (out, err) = (fs::read_to_string(out), fs::read_to_string(err));
    let (out, err) = (out.unwrap_or_default(), err.unwrap_or_default());
    assert!(status.success(), "{command:?}: {status}\n{out}{err}");
    out.trim().to_owned()
}
