"""Files go with the state: what cells did to /workspace is undone with them."""

import pytest

pytestmark = pytest.mark.release


@pytest.fixture
def timed(spawn):
    """A session with a checkpoint at each boundary, so that each cell can be undone by itself."""
    return spawn("min", checkpoints="every")


def undo(session, to):
    answer = session.client.call("POST", f"/v1/sessions/{session.id}/undo", {"to": to})
    assert answer.files == "restored", answer
    return answer


@pytest.mark.smoke
def test_a_file_written_changed_and_deleted_comes_back_for_each_undo(timed):
    first = timed.exec("open('f', 'w').write('one')").checkpoint
    second = timed.exec("open('f', 'w').write('two'); open('g', 'w').write('g')").checkpoint
    third = timed.exec("import os; os.unlink('f'); os.rename('g', 'h')").checkpoint
    assert first < second < third
    look = "import os; sorted((n, open(n).read()) for n in os.listdir())"
    assert timed.value(look) == "[('h', 'g')]"
    assert undo(timed, second).files_changed == 3
    assert timed.value(look) == "[('f', 'two'), ('g', 'g')]"
    undo(timed, first)
    assert timed.value(look) == "[('f', 'one')]"
    undo(timed, 0)
    assert timed.value(look) == "[]"


@pytest.mark.smoke
def test_modes_times_and_links_are_restored_and_no_link_is_followed(timed):
    timed.exec("import os\n"
               "os.mkdir('d'); open('d/run', 'w').write('#!'); os.chmod('d/run', 0o751)\n"
               "os.utime('d/run', ns=(5, 7)); os.symlink('/etc/passwd', 'out')")
    look = ("(oct(os.stat('d/run').st_mode), os.stat('d/run').st_mtime_ns, os.readlink('out'),"
            " open('d/run').read())")
    before = timed.value(look)
    kept = timed.exec("1").checkpoint
    timed.exec("os.chmod('d/run', 0o600); os.unlink('out'); os.rename('d', 'elsewhere')\n"
               "os.symlink('/etc', 'd'); open('out', 'w').write('a file now')")
    undo(timed, kept)
    assert timed.value(look) == before == "('0o100751', 7, '/etc/passwd', '#!')"


@pytest.mark.smoke
def test_an_open_file_is_the_same_file_afterwards(timed):
    kept = timed.exec("f = open('log', 'a+'); print('first', file=f, flush=True)").checkpoint
    timed.exec("print('second', file=f, flush=True)")
    undo(timed, kept)
    timed.exec("print('third', file=f, flush=True)")
    assert timed.value("open('log').read()") == "'first\\nthird\\n'"


@pytest.mark.smoke
def test_a_crash_takes_back_the_files_of_its_cell(timed):
    timed.exec("import os; open('f', 'w').write('before')")
    died = timed.exec("open('f', 'w').write('half'); open('g', 'w').close(); os._exit(3)")
    assert died.status == "died"
    assert timed.value("os.listdir(), open('f').read()") == "(['f'], 'before')"
