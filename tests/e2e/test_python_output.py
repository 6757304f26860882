"""What cells write and show: order, streams, children, threads, displays."""

import base64
import struct

import pytest

pytestmark = pytest.mark.semantics


def display_order(session, code):
    """The stream of a cell as short words: text of outputs and types of displays, in order."""
    seen = []
    for name, data in session.events(code):
        if name == "output":
            seen.append(data["text"])
        elif name == "display":
            seen.append("<" + data["type"] + ">")
        else:
            assert name == "result" and data.status == "ok", data
    return "".join(seen)


def collected(session, exec_id, stream):
    return session.output(number=exec_id, stream=stream)["text"]


@pytest.mark.smoke
def test_stdout_and_stderr_are_separate(session):
    result = session.exec("import sys; print('out'); print('err', file=sys.stderr)")
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")


@pytest.mark.smoke
def test_unicode_is_kept(session):
    assert session.out("print('ünï→😀\\u200b')") == "ünï→😀\u200b\n"


@pytest.mark.smoke
def test_print_without_newline_or_flush_is_complete(session):
    assert session.out("print('no newline', end='')") == "no newline"


@pytest.mark.smoke
def test_control_characters_are_kept_and_what_was_overwritten_where_all_of_it_is_read(session):
    assert session.out("print('a\\rb\\x1b[31m\\x08\\x00c')") == "b\x1b[31m\x08\x00c\n"
    assert session.output()["text"] == "a\rb\x1b[31m\x08\x00c\n"


def test_binary_output_becomes_valid_text(session):
    out = session.out("import os; os.write(1, b'ok \\xff\\xfe ok')")
    assert out.startswith("ok ") and out.endswith(" ok")
    assert "\ufffd" in out


def test_a_surrogate_in_print_is_no_disaster(session):
    result = session.exec("print('\\ud800')")
    assert result.status in ("ok", "error")
    assert session.value("1") == "1"


def test_a_surrogate_in_a_value_is_no_disaster(session):
    result = session.exec("'\\udcff'")
    assert result.status == "ok"
    assert session.value("1") == "1"


def test_a_surrogate_in_an_exception_is_no_disaster(session):
    assert session.fails("raise ValueError('\\ud800 \\udfff')").name == "ValueError"
    assert session.value("1") == "1"


def test_output_of_c_code_is_in_order_with_print(session):
    assert session.out(
        """
        import ctypes
        libc = ctypes.CDLL(None)
        for n in range(3):
            print(f'python {n}, ', end='')
            libc.printf(b'C %d, ', n)
        print('end')
        """
    ) == "python 0, C 0, python 1, C 1, python 2, C 2, end\n"


def test_output_of_puts_and_write_is_in_order_with_print(session):
    assert session.out(
        """
        import ctypes, os, sys
        libc = ctypes.CDLL(None)
        print('1 ', end=''); libc.puts(b'2'); os.write(1, b'3 '); print('4 ', end='')
        sys.stdout.buffer.write(b'5 '); sys.stdout.write('6 '); os.write(1, b'7')
        """
    ) == "1 2\n3 4 5 6 7"


def test_output_of_children_is_in_order_with_print(session):
    assert session.out(
        """
        import os, subprocess
        print('a', end=' ')
        subprocess.run(['echo', 'b'])
        print('c', end=' ')
        os.system('echo d')
        print('e', end=' ')
        subprocess.call('echo f', shell=True)
        print('g')
        """
    ) == "a b\nc d\ne f\ng\n"


def test_output_before_fork_is_not_repeated_by_the_child(session):
    assert session.out(
        """
        import os
        print('once', end=' ')
        pid = os.fork()
        if pid == 0:
            print('child', end=' ')
            import sys; sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        print('parent')
        """
    ) == "once child parent\n"


def test_a_forked_child_that_falls_off_the_cell_does_not_answer_for_it(session):
    result = session.exec("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n'who'")
    assert result.status == "ok"
    assert session.value("2") == "2"
    assert session.value("3") == "3"


def test_a_child_that_raises_writes_to_stderr_and_leaves_the_session_alone(session):
    result = session.exec(
        """
        import os
        pid = os.fork()
        if pid == 0:
            raise ValueError('in the child')
        _, status = os.waitpid(pid, 0)
        """
    )
    assert result.status == "ok"
    assert session.value("os.WEXITSTATUS(status) != 0") == "True"


def test_late_output_of_a_child_belongs_to_its_own_cell(session, eventually):
    first = session.exec(
        """
        import subprocess
        child = subprocess.Popen('read line; echo late', shell=True, stdin=subprocess.PIPE)
        """
    )
    second = session.exec("print('second'); child.communicate(b'go\\n'); print('second end')")
    assert second["stdout"] == "second\nsecond end\n"
    eventually(lambda: collected(session, first.number, "stdout") == "late\n")
    assert collected(session, second.number, "stdout") == "second\nsecond end\n"


def test_late_output_of_a_child_between_cells_is_kept(session, eventually):
    first = session.exec("import os; os.system('(sleep 1.5; echo much later) &')")
    assert first["stdout"] == ""
    eventually(lambda: collected(session, first.number, "stdout") == "much later\n")
    assert session.exec("print('next')")["stdout"] == "next\n"


def test_late_output_of_a_thread_belongs_to_its_own_cell(session, eventually):
    first = session.exec(
        """
        import threading
        go = threading.Event()
        def work():
            go.wait()
            print('from the thread')
        thread = threading.Thread(target=work); thread.start()
        """
    )
    second = session.exec("go.set(); thread.join(); print('second')")
    assert second["stdout"] == "second\n"
    eventually(lambda: collected(session, first.number, "stdout") == "from the thread\n")


def test_a_stream_saved_in_one_cell_still_works_in_the_next(session):
    session.exec("import sys; saved = sys.stdout")
    result = session.exec("saved.write('hello\\n'); print('there')")
    assert result.status == "ok"
    assert "there\n" in result["stdout"]


def test_a_logging_handler_made_in_one_cell_writes_to_the_current_one(session):
    session.exec("import logging; logging.basicConfig(format='%(message)s', level='INFO')")
    assert session.exec("logging.info('logged')")["stderr"] == "logged\n"


def test_redirected_stdout_stays_with_the_user(session):
    assert session.value(
        """
        import contextlib, io
        with contextlib.redirect_stdout(io.StringIO()) as text:
            print('captured')
        text.getvalue()
        """
    ) == "'captured\\n'"
    assert session.out("print('free')") == "free\n"


def test_a_replaced_sys_stdout_does_not_break_the_next_cell(session):
    session.exec("import sys, io; sys.stdout = io.StringIO()")
    session.exec("sys.stdout = None")
    assert session.exec("1 + 1").status == "ok"
    session.exec("sys.stdout = sys.__stdout__")
    assert session.out("print('back')") == "back\n"


def test_a_closed_stdout_costs_only_that_cell(session):
    session.exec("import sys; sys.stdout.close()")
    assert session.exec("1 + 1")["value"] == {"type": "text", "text": "2"}
    assert session.out("print('back')") == "back\n"


def test_closing_descriptors_one_and_two_costs_only_that_cell(session):
    session.exec("import os; os.close(1); os.close(2)")
    result = session.exec("print('back')")
    assert (result.status, result["stdout"]) == ("ok", "back\n")


def test_descriptor_two_dup2ed_over_one_costs_only_that_cell(session):
    session.exec("import os; os.dup2(2, 1); print('to stderr')")
    assert session.out("print('to stdout')") == "to stdout\n"


def test_a_nonblocking_stdout_does_not_spoil_the_next_cell(session):
    session.exec("import os; os.set_blocking(1, False)")
    assert len(session.exec("print('x' * 1_000_000)", budget=2_000_000)["stdout"]) == 1_000_001


@pytest.mark.slow
def test_a_print_at_the_end_of_a_million_lines_arrives(session):
    result = session.exec("for n in range(100_000): print(n)", budget=16_777_216)
    assert result["stdout"].endswith("99999\n")
    assert result["stdout"].count("\n") == 100_000


# Displays.


def png_size(output):
    data = base64.b64decode(output["data"])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


def test_plt_show_gives_an_image(data_session):
    result = data_session.exec("plt.plot([1, 2, 3]); plt.show()", images="inline")
    (image,) = result["outputs"]
    assert (image["type"], image["format"]) == ("image", "png")
    assert png_size(image) == (image["width"], image["height"])
    assert result["value"] is None


def test_a_figure_left_open_is_shown_at_the_end(data_session):
    result = data_session.exec("plt.plot([1, 2]); print('drawn')")
    assert [o["type"] for o in result["outputs"]] == ["image"]
    assert data_session.exec("pass")["outputs"] == []


def test_a_closed_figure_is_not_shown(data_session):
    assert data_session.exec("plt.plot([1]); plt.close()")["outputs"] == []


def test_two_figures_are_two_images(data_session):
    result = data_session.exec(
        """
        plt.figure(figsize=(2, 1), dpi=100); plt.plot([1])
        plt.figure(figsize=(3, 1), dpi=100); plt.plot([2])
        """
    )
    assert len(result["outputs"]) == 2


def test_savefig_writes_a_file(data_session):
    data_session.exec("plt.plot([1]); plt.savefig('/workspace/p.png'); plt.close()")
    assert data_session.value("open('/workspace/p.png', 'rb').read(4)") == "b'\\x89PNG'"


def test_a_figure_that_cannot_be_drawn_is_told(data_session):
    result = data_session.exec("plt.figure(figsize=(10**6, 10**6)); plt.plot([1]); plt.show()")
    assert "cannot be drawn" in result["outputs"][0]["text"]
    assert data_session.exec("1 + 1")["outputs"] == []


def test_pandas_leaves_no_columns_out_to_fit_into_a_terminal(data_session):
    """Loaded before the session began, it is in a notebook all the same."""
    assert data_session.value("pd.get_option('display.max_columns')") == "20"


def test_seaborn_and_pandas_plots(data_session):
    result = data_session.exec(
        """
        df = pd.DataFrame({'x': [1, 2, 3], 'y': [2, 3, 5]})
        sns.scatterplot(data=df, x='x', y='y')
        """
    )
    assert result.status == "ok", result
    assert [o["type"] for o in result["outputs"]] == ["image"]


def test_displays_are_in_order_with_prints(data_session):
    assert display_order(
        data_session,
        """
        print('one', end=' ')
        plt.plot([1]); plt.show()
        print('two', end=' ')
        plt.plot([2]); plt.show()
        print('three')
        """,
    ) == "one <image>two <image>three\n"


def test_displays_are_in_order_with_c_output_and_children(data_session):
    assert display_order(
        data_session,
        """
        import ctypes
        ctypes.CDLL(None).printf(b'C ')
        plt.plot([1]); plt.show()
        os.system('printf child')
        plt.plot([1]); plt.show()
        """,
    ) == "C <image>child<image>"


def test_an_object_with_a_html_repr_is_html(session):
    code = "class H:\n    def _repr_html_(self): return '<b>bold</b>'\nH()"
    value = session.exec(code, html=True)["value"]
    assert value["type"] == "html"
    assert value["html"] == "<b>bold</b>"
    assert "text" in value
    assert "html" not in session.exec(code)["value"]


def test_a_html_repr_that_fails_falls_back_to_text(session):
    result = session.exec("class H:\n    def _repr_html_(self): 1/0\nH()")
    assert result.status == "ok"
    assert result["value"]["type"] == "text"


def test_a_dataframe_has_text_html_and_size(data_session):
    code = "pd.DataFrame({'a': [1, 2, 3], 'b': list('xyz')})"
    value = data_session.exec(code, html=True)["value"]
    assert value["type"] == "dataframe"
    assert (value["rows"], value["columns"]) == (3, 2)
    assert "<table" in value["html"] and len(value["head"]) == 3 and len(value["dtypes"]) == 2
    assert value["text"].split() == "a b 0 1 x 1 2 y 2 3 z".split()
    lean = data_session.exec(code)["value"]
    assert lean == {name: value[name] for name in ("type", "text", "rows", "columns")}


def test_a_big_dataframe_is_shortened(data_session):
    value = data_session.exec("pd.DataFrame(np.zeros((100_000, 300)))", budget=16_777_216,
                              html=True)["value"]
    assert (value["rows"], value["columns"]) == (100_000, 300)
    assert len(value["text"]) + len(value["html"]) < 1_000_000


def test_display_shows_several_values_in_order(session):
    assert display_order(
        session,
        """
        class H:
            def _repr_html_(self): return '<i>i</i>'
        print('a', end=' ')
        display(H())
        print('b', end=' ')
        display('text')
        """,
    ) == "a <html>b <text>"


def test_a_display_from_a_thread(session):
    result = session.exec(
        """
        import threading
        t = threading.Thread(target=lambda: display('from a thread'))
        t.start(); t.join()
        """
    )
    assert result.status == "ok", result
    assert [o["type"] for o in result["outputs"]] == ["text"]


def test_a_display_in_a_forked_child_does_not_confuse_the_session(session):
    session.exec(
        """
        import os
        pid = os.fork()
        if pid == 0:
            try:
                display('child')
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        """,
        timeout_ms=5000,
    )
    assert session.value("'fine'") == "'fine'"


NOISE = "_ = plt.imshow(np.random.rand(300, 300), interpolation='nearest'); plt.show()"


def test_a_picture_larger_than_the_default_budget_arrives(spawn):
    session = spawn("data")
    (image,) = session.exec(NOISE, images="inline")["outputs"]
    assert image["type"] == "image" and len(image["data"]) > 65536


def test_a_budget_that_the_caller_sets_counts_pictures_too(spawn):
    session = spawn("data")
    result = session.exec(NOISE, budget=4096, images="inline")
    assert result["truncated"] and "data" not in result["outputs"][0]
    assert result["outputs"][0]["url"].startswith("/v1/notebooks/")


def test_what_fortran_prints_comes_with_its_cell(spawn):
    session = spawn("data")
    out = session.out("""
        from scipy.optimize import fmin_l_bfgs_b
        x = fmin_l_bfgs_b(lambda x: (x ** 2).sum(), [1.], approx_grad=True, iprint=1)
    """)
    assert "RUNNING THE L-BFGS-B CODE" in out
    assert session.value("[n for n in __import__('os').environ if 'GFORTRAN' in n]") == "[]"
