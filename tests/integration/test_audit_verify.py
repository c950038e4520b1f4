# SPDX-License-Identifier: Apache-2.0
"""osb audit verify tells whether the audit log is as osbd left it.

The log is made here, by the rules in docs/internals/store.md: so they are
what is tested, and not what one program does with its own files.
"""

import hashlib
import hmac
import os
import pathlib
import sqlite3
import struct

import osb
import pytest

OSBD_UID = 65520
KEY = bytes(range(32))
START_US = 1_700_000_000_000_000


def hash_of(before, seq, time_us, *texts):
    data = before + struct.pack("<Qq", seq, time_us)
    for text in texts:
        data += struct.pack("<I", len(text.encode())) + text.encode()
    return hashlib.sha256(data).digest()


class Log:
    """A state directory with an audit log."""

    def __init__(self, path):
        self.path = path
        self.osbd = path / "osbd"
        self.osbd.mkdir()
        (self.osbd / "audit.key").write_bytes(KEY)
        self.sql = sqlite3.connect(self.osbd / "osbd.db")
        self.sql.executescript(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA application_id = 0x6f736264;
            PRAGMA user_version = 1;
            CREATE TABLE audit (seq INTEGER PRIMARY KEY, time_us INTEGER,
                domain TEXT, request_id TEXT, action TEXT, object TEXT,
                outcome TEXT, detail TEXT, hash BLOB);
            CREATE TABLE audit_head (one INTEGER PRIMARY KEY, seq INTEGER,
                hash BLOB, mac BLOB);
            """
        )
        self.hash, self.seq = bytes(32), 0
        self.sign()
        self.chown()

    def add(self, number):
        for _ in range(number):
            self.seq += 1
            row = (START_US + self.seq * 1_000_000, "alice", "r-1",
                   "sandbox.create", "żółw", "ok", "")  # fmt: skip
            self.hash = hash_of(self.hash, self.seq, *row)
            self.change(
                "INSERT INTO audit VALUES (?,?,?,?,?,?,?,?,?)",
                self.seq, *row, self.hash,
            )  # fmt: skip
        self.sign()

    def sign(self, key=KEY):
        mac = hmac.digest(key, struct.pack("<Q", self.seq) + self.hash,
                          "sha256")  # fmt: skip
        self.change("INSERT OR REPLACE INTO audit_head VALUES (1,?,?,?)",
                    self.seq, self.hash, mac)  # fmt: skip

    def change(self, text, *values):
        self.sql.execute(text, values)
        self.sql.commit()

    def chown(self):
        for path in [self.osbd, *self.osbd.iterdir()]:
            os.chown(path, OSBD_UID, OSBD_UID)
        self.osbd.chmod(0o700)

    def verify(self):
        return osb.command("audit", "verify", "--state-dir", self.path)


@pytest.fixture
def log(tmp_path):
    # Nobody but root gets there by its path.
    tmp_path.chmod(0o700)
    log = Log(tmp_path)
    yield log
    log.sql.close()


def test_an_intact_log(log):
    done = log.verify()
    assert (done.code, done.err) == (0, "")
    assert done.out == "audit: 0 records, intact, head signed\n"
    log.add(1)
    assert log.verify().out == "audit: 1 record, intact, head signed\n"
    log.add(1233)
    done = log.verify()  # the writer still has it open
    assert done.code == 0, done
    assert done.out == "audit: 1234 records, intact, head signed\n"


def test_nothing_is_written_and_no_file_is_left_to_root(log):
    log.add(3)
    log.sql.close()
    before = (log.osbd / "osbd.db").read_bytes()
    assert log.verify().code == 0
    assert (log.osbd / "osbd.db").read_bytes() == before
    for path in log.osbd.iterdir():
        assert path.stat().st_uid == OSBD_UID, path


@pytest.mark.parametrize(
    "text, line",
    [
        (
            "UPDATE audit SET outcome = 'denied' WHERE seq = 5",
            "record 5 (2023-11-14T22:13:25Z): changed, or the one before it",
        ),
        (
            "DELETE FROM audit WHERE seq = 5",
            "record 5 (2023-11-14T22:13:26Z): "
            "missing; the time is that of the one behind",
        ),
        (
            "DELETE FROM audit WHERE seq > 7",
            "record 8 (2023-11-14T22:13:27Z): "
            "cut off, it and all up to 10; the time is that of the last",
        ),
        (
            "UPDATE audit_head SET seq = 9, hash = "
            "(SELECT hash FROM audit WHERE seq = 9)",
            "record 10 (2023-11-14T22:13:30Z): head not signed by this key",
        ),
        (
            "DELETE FROM audit_head",
            "record 10 (2023-11-14T22:13:30Z): there is no head",
        ),
    ],
)
def test_a_broken_log_names_the_first_bad_record(log, text, line):
    log.add(10)
    log.change(text)
    done = log.verify()
    assert (done.code, done.err) == (1, "")
    assert done.out == f"audit: {line}\n"


def test_the_key_of_another_is_none(log):
    log.add(2)
    log.sign(key=bytes(32))
    done = log.verify()
    assert done.code == 1
    assert "record 2 " in done.out
    assert done.out.endswith(": head not signed by this key\n")


def test_what_osbd_noted_at_its_start_counts(log):
    log.add(2)
    log.seq += 1
    row = (START_US, "", "", "audit.broken", "", "found at start",
           "the head\x1b[2J of the log is gone")  # fmt: skip
    log.hash = hash_of(log.hash, log.seq, *row)
    log.change("INSERT INTO audit VALUES (?,?,?,?,?,?,?,?,?)", log.seq, *row,
               log.hash)  # fmt: skip
    log.sign()
    log.add(5)
    done = log.verify()
    assert done.code == 1
    assert done.out == (
        "audit: record 3 (2023-11-14T22:13:20Z): "
        "the head?[2J of the log is gone\n"
    )


def test_what_is_no_log_is_one_line_and_125(log, tmp_path):
    empty = tmp_path / "empty"
    (empty / "osbd").mkdir(parents=True)
    done = osb.command("audit", "verify", "--state-dir", empty)
    assert (done.code, done.out) == (125, "")
    assert done.err == "osbd: osbd.db: No such file or directory\n"
    assert list((empty / "osbd").iterdir()) == []
    log.change("PRAGMA user_version = 99")
    done = log.verify()
    assert (done.code, done.out) == (125, "")
    assert "written by a newer osbd" in done.err
    log.sql.close()
    (log.osbd / "osbd.db").write_bytes(b"no database " * 100)
    done = log.verify()
    assert (done.code, done.out) == (125, "")
    assert "osbd.db is damaged" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_taken_over_osbd_leads_it_nowhere(log):
    """Files in its directory that aren't what they should be."""
    log.sql.close()
    database = log.osbd / "osbd.db"
    for path in log.osbd.iterdir():
        path.unlink()
    os.mkfifo(database)
    done = log.verify()
    assert done.code == 125
    assert done.err == "osbd: osbd.db isn't a file\n"
    database.unlink()
    # What only root may read isn't read for them.
    secret = log.path / "secret.db"
    sqlite3.connect(secret).execute("CREATE TABLE x (y)").connection.close()
    secret.chmod(0o600)
    database.symlink_to(secret)
    assert log.verify().code == 125


@pytest.mark.parametrize(
    "args, line",
    [
        ([], "audit: expected osb audit verify [--state-dir DIR]"),
        (["check"], "audit: expected osb audit verify [--state-dir DIR]"),
        (["verify", "x"], "audit verify 'x': no argument is expected"),
        (["verify", "--state-dir="], "--state-dir '': expected a directory"),
    ],
)
def test_wrong_use_is_one_line(args, line):
    done = osb.command("audit", *args)
    assert (done.code, done.out, done.err) == (125, "", f"osb: {line}\n")


def test_a_missing_state_directory_is_named():
    missing = pathlib.Path("/nonexistent")
    done = osb.command("audit", "verify", "--state-dir", missing)
    assert (done.code, done.out) == (125, "")
    assert done.err == (
        "osbd: state directory '/nonexistent': No such file or directory\n"
    )
