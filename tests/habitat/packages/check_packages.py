"""What an agent does with popular packages that no distribution has ready: schedulers of work, and
servers with clients over the loopback. suites.py runs these as one more suite."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent import futures

import pytest


def square(number):
    return number * number


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def fetch(url, server):
    """What is served there, as soon as the server listens."""
    while True:
        try:
            return urllib.request.urlopen(url).read()
        except urllib.error.URLError:
            assert server.poll() is None, "the server ended"
            time.sleep(0.05)


@pytest.fixture
def serve(tmp_path):
    """Starts a server of Python as a process of its own, which ends with the test."""
    started = []

    def start(code, *command):
        (tmp_path / "app.py").write_text(code)
        started.append(subprocess.Popen([sys.executable, *command], cwd=tmp_path))
        return started[-1]

    yield start
    for server in started:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_dask_schedulers(scheduler):
    import dask
    assert dask.compute([dask.delayed(square)(n) for n in range(6)],
                        scheduler=scheduler, num_workers=2)[0] == [0, 1, 4, 9, 16, 25]


def test_dask_bag():
    import dask.bag
    assert dask.bag.from_sequence(range(100), npartitions=4).map(square).sum().compute() == 328350


@pytest.mark.parametrize("processes", [False, True])
def test_dask_cluster(processes):
    from dask.distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=processes,
                      dashboard_address=None) as cluster, Client(cluster) as client:
        assert client.gather(client.map(square, range(5))) == [0, 1, 4, 9, 16]
        assert len(set(client.run(os.getpid).values())) == (2 if processes else 1)


GRPC_METHOD = "/habitat.Echo/Upper"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0", "localhost:0", "unix:"])
def test_grpc_server_and_client(address, tmp_path):
    import grpc
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: request.upper())
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("habitat.Echo", {"Upper": handler})])
    if address == "unix:":
        address += str(tmp_path / "socket")
    port = server.add_insecure_port(address)
    server.start()
    try:
        with grpc.insecure_channel(address.removesuffix(":0") + (f":{port}" if port > 1 else "")
                                   ) as channel:
            assert channel.unary_unary(GRPC_METHOD)(b"hello", timeout=30) == b"HELLO"
    finally:
        server.stop(None).wait()


def test_grpc_asyncio():
    import asyncio

    import grpc.aio

    async def main():
        async def upper(request, context):
            return request.upper()
        server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(upper)
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("habitat.Echo", {"Upper": handler})])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            answer = await channel.unary_unary(GRPC_METHOD)(b"hello", timeout=30)
        await server.stop(None)
        return answer
    assert asyncio.run(main()) == b"HELLO"


FLASK = """
import flask
app = flask.Flask(__name__)
@app.get('/')
def index(): return 'flask'
"""


@pytest.mark.parametrize("debug", [False, True])
def test_flask_dev_server(serve, debug):
    """With --debug a second process watches the sources and restarts the server."""
    port = free_port()
    server = serve(FLASK, "-m", "flask", "run", "--port", str(port), *["--debug"] * debug)
    assert fetch(f"http://127.0.0.1:{port}/", server) == b"flask"


def test_flask_reloads(serve, tmp_path):
    port = free_port()
    server = serve(FLASK, "-m", "flask", "run", "--port", str(port), "--debug")
    assert fetch(f"http://127.0.0.1:{port}/", server) == b"flask"
    (tmp_path / "app.py").write_text(FLASK.replace("'flask'", "'changed'"))
    while fetch(f"http://127.0.0.1:{port}/", server) != b"changed":
        time.sleep(0.05)


def test_flask_in_a_thread():
    import flask
    from werkzeug.serving import make_server
    app = flask.Flask("app")
    app.add_url_rule("/", view_func=lambda: "threaded")
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f"http://127.0.0.1:{server.port}/").read() == b"threaded"
    server.shutdown()


FASTAPI = """
import fastapi
app = fastapi.FastAPI()
@app.get('/{number}')
async def double(number: int): return number * 2
"""


@pytest.mark.parametrize("options", [(), ("--reload",), ("--workers", "2")])
def test_fastapi_server(serve, options):
    port = free_port()
    server = serve(FASTAPI, "-m", "uvicorn", "app:app", "--port", str(port), *options)
    assert fetch(f"http://127.0.0.1:{port}/21", server) == b"42"


def test_fastapi_reloads(serve, tmp_path):
    """uvicorn watches the sources by inotify, with watchfiles."""
    port = free_port()
    server = serve(FASTAPI, "-m", "uvicorn", "app:app", "--port", str(port), "--reload")
    assert fetch(f"http://127.0.0.1:{port}/21", server) == b"42"
    (tmp_path / "app.py").write_text(FASTAPI.replace("* 2", "* 3"))
    while fetch(f"http://127.0.0.1:{port}/21", server) != b"63":
        time.sleep(0.05)
