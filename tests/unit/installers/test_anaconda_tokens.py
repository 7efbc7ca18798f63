from __future__ import annotations

from envkit.installers.anaconda_tokens import read_anaconda_tokens
from envkit.installers.channels import Channels


def test_tokens_are_read_by_the_url_in_their_file_s_name(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "https%3A%2F%2Fapi.anaconda.org.token").write_text("tk-1\n")
    (data / "https%3A%2F%2Fcorp%2Fx.token").write_text("tk-2")
    (data / "https%3A%2F%2Fodd.token").write_text("no token: blanks\nand lines")
    (data / "https%3A%2F%2Fbinary.token").write_bytes(b"\xff\xfe")
    (data / "other.txt").write_text("tk-3")
    assert read_anaconda_tokens({"BINSTAR_CONFIG_DIR": str(tmp_path)}) == {
        "https://api.anaconda.org": "tk-1",
        "https://conda.anaconda.org": "tk-1",
        "https://corp/x": "tk-2",
    }
    assert read_anaconda_tokens({"BINSTAR_CONFIG_DIR": str(tmp_path / "none")}) == {}


def test_a_token_goes_where_the_server_expects_it():
    channels = Channels("https://conda.anaconda.org", custom={"my": "https://me:pw@corp/x", "sub": "https://corp/x"})
    tokens = {"https://conda.anaconda.org": "tk-1", "https://corp/x": "tk-2"}

    def access(name):
        return channels.with_tokens(channels.resolve(name), tokens).access

    assert access("conda-forge") == "https://conda.anaconda.org/t/tk-1/conda-forge"
    assert access("sub") == "https://corp/x/t/tk-2/sub"
    assert access("my") == "https://me:pw@corp/x/my"
    assert access("https://corp/xy/c") == "https://corp/xy/c"
    assert access("http://corp/x/c") == "http://corp/x/c"
    assert access("https://other/c") == "https://other/c"
