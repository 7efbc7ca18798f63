from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError
from envkit.model.addresses import checked_address, redacted, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:s3cr@s3cr3t@host/simple", "http://***@host/simple"),
        ("error: https://me:s3cr3t@h:80/a and http://s3cr3t@b/", "error: https://***@h:80/a and http://***@b/"),
        ("user:s3cr3t@host/simple", "***@host/simple"),
        ("'http:/user:s3cr3t@host/'", "'http:/***@host/'"),
        ("https:\\\\me:s3cr3t@host", "***@host"),
        ("https://host/a@b and torch==1.0 @ c", "https://host/a@b and torch==1.0 @ c"),
        ("at https://h/t/tk-12-34-ab/main/x.conda.", "at https://h/t/***/main/x.conda."),
        ("https://me:s3cr3t@h:80/conda/t/s3cr3t_0123456789", "https://***@h:80/conda/t/***"),
        ("https://host/simple/t/torchvision/a.whl", "https://host/simple/t/torchvision/a.whl"),
        ("file:///tmp/t/folder-2026/x", "file:///tmp/t/folder-2026/x"),
        ("2026-11-30 14:59:01 done", "2026-11-30 14:59:01 done"),
    ],
)
def test_no_password_is_shown(text, shown):
    assert redacted(text) == shown


@pytest.mark.parametrize("address", ["http://[::1", "http://me:s3cr3t@host:port/", "me:s3cr3t@host/simple"])
def test_an_address_that_no_program_can_take_apart(address):
    with pytest.raises(InvalidFileError, match="is no address") as caught:
        checked_address(address, "pip's configuration")
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("address", ["https://me:pw@host/simple", "/wheels", "wheels", "file:///wheels", "C:\\wheels"])
def test_what_users_may_configure(address):
    assert checked_address(address, "x") == address


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("https://me:s3cr3t@host/packages/t/torch/torch-1.whl", "https://host/packages/t/torch/torch-1.whl"),
        ("https://host/t/tk-12-34-ab/simple/a.whl", "https://host/simple/a.whl"),
        ("https://host/a@b/c.whl", "https://host/a@b/c.whl"),
        ("file:///srv/t/team-2026/a.whl", "file:///srv/t/team-2026/a.whl"),
    ],
)
def test_a_folder_called_t_is_no_secret(address, plain):
    assert without_secrets(address) == plain
