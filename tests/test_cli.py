import os
import subprocess
import sys
from dataclasses import replace

import pytest

import pursuit
from pursuit import cli, datasets, demo
from pursuit.commands import demo as demo_command
from pursuit.commands import info


def with_demo(monkeypatch, run):
    """Let ``pursuit demo`` do something else."""
    commands = [
        replace(command, run=run) if command.name == "demo" else command
        for command in cli.COMMANDS
    ]
    monkeypatch.setattr(cli, "COMMANDS", commands)


def raising(error):
    def run(args):
        raise error

    return run


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == f"pursuit {pursuit.__version__}\n"


def test_python_minus_m():
    done = subprocess.run(
        [sys.executable, "-m", "pursuit", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"pursuit {pursuit.__version__}"


def test_no_command_shows_the_help(capsys):
    assert cli.main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for command in cli.COMMANDS:
        assert command.name in shown.err


@pytest.mark.parametrize("argv", [["nonsense"], ["demo", "--nonsense"]])
def test_wrong_usage(argv, capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(argv)
    assert exit_info.value.code == 2
    assert "nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--list"], ["table-9.3", "--quick"]])
def test_reproduce_names_its_successor(words, capsys):
    assert cli.main(["reproduce", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("pursuit: error: ")
    assert "make reproduce" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", [command.name for command in cli.COMMANDS])
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main([name, "--help"])
    assert exit_info.value.code == 0
    assert f"pursuit {name}" in capsys.readouterr().out


def test_info_names_versions_threads_and_data(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PURSUIT_DATA", str(tmp_path / "nowhere"))
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    assert pursuit.__version__ in out
    assert "blas" in out
    assert "nowhere (absent)" in out


def test_info_says_what_is_not_installed(capsys, monkeypatch):
    monkeypatch.setattr(info, "OPTIONAL_PACKAGES", ("no-such-package",))
    monkeypatch.delenv("PURSUIT_DATA", raising=False)
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    assert "not installed (optional)" in out
    assert "not set" in out


def test_info_lists_the_data_it_finds(capsys, monkeypatch, tmp_path):
    (tmp_path / "sonar.npz").touch()
    monkeypatch.setenv("PURSUIT_DATA", str(tmp_path))
    assert cli.main(["info"]) == 0
    assert "sonar" in capsys.readouterr().out


def test_info_names_every_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PURSUIT_DATA", str(tmp_path))
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    assert datasets.folders()[0] == tmp_path
    for folder in datasets.folders():
        assert str(folder) in out


def test_demo_gets_its_options(monkeypatch, tmp_path):
    seen = []
    for place, name in ((demo_command, "tour"), (demo, "run")):
        monkeypatch.setattr(
            place, name, lambda output, quick: seen.append((output, quick))
        )
    assert cli.main(["demo", "--quick", "--output", str(tmp_path)]) == 0
    assert seen == [(tmp_path, True)] * 2


def test_an_unusable_folder_is_one_line(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert cli.main(["demo", "--quick", "--output", str(file)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("pursuit: error:")
    assert str(file) in err
    assert err.count("\n") == 1


def test_a_command_error_is_one_line(monkeypatch, capsys):
    with_demo(monkeypatch, raising(cli.CommandError("put this right")))
    assert cli.main(["demo"]) == 1
    assert capsys.readouterr().err == "pursuit: error: put this right\n"


def test_a_defect_keeps_its_traceback(monkeypatch):
    with_demo(monkeypatch, raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo"])


def test_interrupt(monkeypatch, capsys):
    with_demo(monkeypatch, raising(KeyboardInterrupt()))
    assert cli.main(["demo"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="pipes break differently there")
def test_a_reader_that_leaves_early_sees_no_traceback():
    writer = subprocess.Popen(
        [sys.executable, "-m", "pursuit", "info"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer.stdout.close()
    err = writer.stderr.read()
    writer.stderr.close()
    assert writer.wait() == 141
    assert "Traceback" not in err
