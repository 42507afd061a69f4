//! Who holds a port: asked of `/proc` when the gateway cannot have it. Linux only; elsewhere
//! nothing is known.

use std::net::SocketAddr;
use std::path::Path;

/// The `st` column of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// The process that listens on the port of `address`, as `NAME (process ID)`, when it may be seen.
pub(super) fn port_holder(address: SocketAddr) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, address.port()))
        .collect();
    let links: Vec<String> = inodes
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = std::fs::read_dir("/proc").ok()?.flatten().filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
    });
    for process in processes {
        if holds_one_of(&process.path(), &links) {
            let name = std::fs::read_to_string(process.path().join("comm")).ok()?;
            let id = process.file_name();
            return Some(format!(
                "{} (process {})",
                name.trim(),
                id.to_string_lossy()
            ));
        }
    }
    None
}

/// Inodes of the sockets that listen on `port`: column 2 is `ADDRESS:PORT` in hexadecimal, 4 the
/// state, 10 the inode.
fn listening_inodes(table: &str, port: u16) -> Vec<String> {
    let mut inodes = Vec::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = columns[..] else {
            continue;
        };
        let held = local
            .rsplit_once(':')
            .and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        if state == LISTENING && held == Some(port) {
            inodes.push(inode.to_owned());
        }
    }
    inodes
}

fn holds_one_of(process: &Path, links: &[String]) -> bool {
    let Ok(files) = std::fs::read_dir(process.join("fd")) else {
        return false;
    };
    files.flatten().any(|file| {
        std::fs::read_link(file.path()).is_ok_and(|link| {
            links
                .iter()
                .any(|wanted| link.as_os_str() == wanted.as_str())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_table_of_sockets() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0\n   \
            1: 0100007F:1F91 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0\n   \
            2: 0100007F:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0\n";
        assert_eq!(listening_inodes(table, 8081), ["4711"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn finds_this_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = port_holder(listener.local_addr().unwrap()).unwrap();
        assert!(
            holder.ends_with(&format!("(process {})", std::process::id())),
            "{holder}"
        );
    }
}
