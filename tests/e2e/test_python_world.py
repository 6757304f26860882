"""What programs do beside computing: threads, processes, files, sockets, signals, descriptors."""

import pytest



@pytest.mark.smoke
def test_threads(session):
    assert session.out(
        """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            print(sum(pool.map(lambda n: n * n, range(100))))
        """
    ) == "328350\n"


@pytest.mark.smoke
def test_a_background_thread_runs_on_between_cells(session, eventually):
    session.exec(
        """
        import threading, time
        count, stop = 0, threading.Event()
        def work():
            global count
            while not stop.wait(0.001):
                count += 1
        thread = threading.Thread(target=work); thread.start()
        """
    )
    eventually(lambda: int(session.value("count")) > 20)
    session.exec("stop.set(); thread.join()")


@pytest.mark.smoke
def test_subprocess_with_pipes(session):
    assert session.value(
        "import subprocess; subprocess.run(['tr', 'a-z', 'A-Z'], input=b'text', "
        "capture_output=True).stdout"
    ) == "b'TEXT'"


@pytest.mark.smoke
def test_a_shell_pipeline(session):
    assert session.out("import os; os.system('seq 10 | tail -n 1')") == "10\n"


def test_a_python_of_ones_own(session):
    assert session.out(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(6*7)'])"
    ) == "42\n"


def test_os_wait_sees_only_the_users_children(session):
    assert session.fails("import os; os.wait()").name == "ChildProcessError"
    assert session.out(
        "pid = os.fork()\nif pid == 0: os._exit(3)\ngot, status = os.wait()\n"
        "print(got == pid, os.WEXITSTATUS(status))"
    ) == "True 3\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(session, method):
    session.exec("def square(n):\n    return n * n")
    if method != "fork":
        session.exec("open('/workspace/squares.py', 'w').write('def square(n): return n * n')")
        session.exec("from squares import square")
    result = session.exec(
        f"""
        import multiprocessing
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            print(pool.map(square, range(5)))
        """,
        timeout_ms=25_000,
    )
    assert (result.status, result["stdout"]) == ("ok", "[0, 1, 4, 9, 16]\n"), result


def test_process_pool_executor(session):
    session.exec("def twice(n):\n    return 2 * n")
    assert session.value(
        """
        from concurrent.futures import ProcessPoolExecutor
        import multiprocessing
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:
            result = list(pool.map(twice, range(4)))
        result
        """
    ) == "[0, 2, 4, 6]"


def test_multiprocessing_queue_lock_and_shared_memory(session):
    assert session.out(
        """
        import multiprocessing as mp
        from multiprocessing import shared_memory
        ctx = mp.get_context('fork')
        queue, lock = ctx.Queue(), ctx.Lock()
        memory = shared_memory.SharedMemory(create=True, size=16)
        def work():
            with lock:
                memory.buf[0] = 7
                queue.put('sent')
        child = ctx.Process(target=work); child.start()
        print(queue.get(timeout=10)); child.join()
        print(memory.buf[0], child.exitcode)
        memory.close(); memory.unlink()
        """
    ) == "sent\n7 0\n"


def test_sqlite_in_the_workspace(session):
    session.exec(
        """
        import sqlite3
        db = sqlite3.connect('/workspace/a.db')
        db.execute('pragma journal_mode=wal')
        db.execute('create table t(x)'); db.execute('insert into t values (42)'); db.commit()
        """
    )
    assert session.value("db.execute('select x from t').fetchone()[0]") == "42"


def test_tempfile(session):
    assert session.value(
        "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n"
        "    f.write('x'); f.seek(0); text = f.read()\n(text, f.name.startswith('/tmp/'))"
    ) == "('x', True)"
    session.exec("d = tempfile.TemporaryDirectory(); d.cleanup()")


def test_files_rename_link_chmod_mmap_lock(session):
    assert session.out(
        """
        import os, mmap, fcntl
        os.makedirs('/workspace/a/b'); open('/workspace/a/b/f', 'wb').write(b'hello')
        os.rename('/workspace/a/b/f', '/workspace/a/g'); os.link('/workspace/a/g', '/workspace/h')
        os.symlink('/workspace/h', '/workspace/s'); os.chmod('/workspace/h', 0o600)
        with open('/workspace/s', 'r+b') as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            with mmap.mmap(f.fileno(), 0) as m:
                m[0:1] = b'J'
        print(open('/workspace/h').read())
        """
    ) == "Jello\n"


def test_loopback_sockets_work_inside_the_jail(session):
    assert session.out(
        """
        import socket, threading
        server = socket.create_server(('127.0.0.1', 0))
        def serve():
            peer, _ = server.accept()
            with peer: peer.sendall(peer.recv(10).upper())
        threading.Thread(target=serve).start()
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b'hello'); print(client.recv(10).decode())
        server.close()
        """
    ) == "HELLO\n"


def test_unix_sockets_work_inside_the_jail(session):
    assert session.value(
        "import socket\na, b = socket.socketpair()\na.send(b'x')\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('/tmp/sock'); s.listen()\nb.recv(1)"
    ) == "b'x'"


def test_an_http_server_inside_the_jail(session):
    assert session.value(
        """
        import http.server, threading, urllib.request
        open('/workspace/page', 'w').write('served')
        handler = http.server.SimpleHTTPRequestHandler
        handler.log_message = lambda *a: None
        server = http.server.ThreadingHTTPServer(('localhost', 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = urllib.request.urlopen(f'http://localhost:{server.server_port}/page').read()
        server.shutdown(); server.server_close()
        text
        """
    ) == "b'served'"


def test_the_outer_network_is_not_there(session):
    error = session.fails("import socket; socket.create_connection(('1.1.1.1', 80), timeout=3)")
    assert error.name in ("OSError", "PermissionError", "ConnectionRefusedError")
    assert session.fails("socket.getaddrinfo('example.com', 80)").name == "gaierror"


def test_usual_devices(session):
    assert session.out(
        """
        open('/dev/null', 'w').write('x')
        print(open('/dev/zero', 'rb').read(2), len(open('/dev/urandom', 'rb').read(4)))
        """
    ) == "b'\\x00\\x00' 4\n"


def test_time_zone_locale_and_encoding(session):
    assert session.value(
        "import sys, locale; (sys.getdefaultencoding(), sys.stdout.encoding, "
        "locale.getpreferredencoding())"
    ).lower() == "('utf-8', 'utf-8', 'utf-8')"
    session.value("import time, zoneinfo, datetime; datetime.datetime.now().astimezone()")


def test_proc_self_and_psutil_like_reads(session):
    assert session.value("open('/proc/self/status').read().startswith('Name')") == "True"
    assert int(session.value("import os; os.cpu_count()")) >= 1


# Signals and descriptors.


def test_a_signal_handler_of_the_users_own(session):
    assert session.out(
        """
        import os, signal
        signal.signal(signal.SIGUSR1, lambda *a: print('got it'))
        os.kill(os.getpid(), signal.SIGUSR1)
        """
    ) == "got it\n"
    assert session.out("os.kill(os.getpid(), signal.SIGUSR1)") == "got it\n"


def test_alarm(session):
    assert session.out(
        """
        import signal
        import time
        rung = []
        signal.signal(signal.SIGALRM, lambda *a: rung.append(print('ring')))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while not rung: time.sleep(0.01)
        """
    ) == "ring\n"


def test_sigint_to_oneself_interrupts_the_cell(session):
    result = session.exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)\nx = 1")
    assert result.status in ("interrupted", "error")
    assert session.value("2") == "2"


def test_keyboard_interrupt_can_be_caught(session):
    assert session.out(
        """
        import signal
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print('caught')
        """
    ) == "caught\n"


def test_sigterm_to_oneself_ends_the_session_and_is_told(session, witness):
    result = session.exec("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert result.status == "died"
    assert "SIGTERM" in str(result["error"]) or "signal 15" in str(result["error"])


def test_sigkill_to_oneself_ends_the_session_and_is_told(session, witness):
    result = session.exec("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert result.status == "died"
    assert result["rolled_back_to"] == 0 and session.is_alive()


def test_sigstop_to_oneself_is_ended_by_the_time_limit(session, witness):
    result = session.exec(
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", timeout_ms=300
    )
    assert result.status == "timeout"


def test_abort_is_told(session, witness):
    result = session.exec("import os; os.abort()")
    assert result.status == "died"
    assert "SIGABRT" in str(result["error"]) or "signal 6" in str(result["error"])


def test_a_null_pointer_costs_the_session_only(session, witness):
    assert session.exec("import ctypes; ctypes.string_at(0)").status == "died"


def test_a_changed_sigint_handler_is_the_users_own_business(session):
    session.exec("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert session.value("1") == "1"
    session.exec("signal.signal(signal.SIGINT, signal.default_int_handler)")
    result = session.exec("signal.raise_signal(signal.SIGINT)")
    assert result.status in ("interrupted", "error")
    assert session.value("1") == "1"


def test_a_blocked_sigint_in_one_cell_does_not_break_the_next(session):
    session.exec("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])")
    assert session.value("1") == "1"


def test_many_open_files_are_the_users_business(session):
    assert session.fails(
        "files = []\nwhile True: files.append(open('/dev/null'))"
    ).name == "OSError"
    session.exec("del files")
    assert session.value("1") == "1"


def test_atexit_and_finalizers_do_not_disturb(session):
    session.exec("import atexit; atexit.register(print, 'bye')")
    session.exec("class F:\n    def __del__(self): print('gone')\nf = F()")
    assert session.out("del f") == "gone\n"


def test_sys_settrace_and_profile_do_not_see_the_driver(session):
    session.exec(
        """
        import sys
        seen = set()
        def trace(frame, event, arg):
            seen.add(frame.f_code.co_filename)
        sys.setprofile(trace)
        """
    )
    session.exec("len('x')")
    session.exec("sys.setprofile(None)")
    assert session.value("1") == "1"


def test_changed_builtins_and_modules_do_not_break_the_driver(session):
    session.exec(
        """
        import builtins, json, os, sys, io, traceback, ast
        builtins.compile = builtins.exec = builtins.print = builtins.len = None
        builtins.repr = builtins.isinstance = builtins.getattr = None
        json.dumps = json.loads = os.write = os.dup2 = None
        traceback.format_exception = ast.parse = None
        """
    )
    assert session.exec("x = 5").status == "ok"
    assert session.value("x") == "5"
    assert session.fails("1/0").name == "ZeroDivisionError"


def test_a_cleared_sys_modules_does_not_break_the_driver(session):
    session.exec("import sys; sys.modules.clear()")
    result = session.exec("40 + 2")
    assert result.status in ("ok", "error")
    assert session.is_alive()


def test_cleared_globals_do_not_break_the_driver(session):
    session.exec("globals().clear()")
    assert session.value("40 + 2") == "42"


def test_gc_and_memory_debugging(session):
    assert int(session.value("import gc; gc.collect()")) >= 0
    session.exec("import tracemalloc; tracemalloc.start()")
    assert session.value("tracemalloc.get_traced_memory()[0] > 0") == "True"
    session.exec("tracemalloc.stop()")


def test_numpy_blas_and_sklearn_work(data_session):
    assert data_session.value("float((np.eye(300) @ np.eye(300)).sum())") == "300.0"
    assert data_session.value(
        "m = linear_model.LinearRegression().fit([[0], [1], [2]], [1, 3, 5])\n"
        "round(float(m.predict([[10]])[0]), 6)"
    ) == "21.0"


def test_csv_and_excel_like_work_in_the_workspace(data_session):
    data_session.exec("pd.DataFrame({'a': [1, 2]}).to_csv('/workspace/t.csv', index=False)")
    assert data_session.value("int(pd.read_csv('/workspace/t.csv').a.sum())") == "3"


def test_the_driver_comes_as_bytecode_with_its_sources(session):
    """For the Python that it was built with: a start does not compile it."""
    assert session.out(
        """
        import os, sys
        ours = [m for name, m in sys.modules.items() if name.startswith("_cella.")]
        print(len(ours) > 50, [m.__name__ for m in ours if not os.path.exists(m.__cached__)])
        print({os.path.dirname(m.__loader__.get_code(m.__name__).co_filename) for m in ours})
        """
    ) == "True []\n{'/cella/python'}\n"
