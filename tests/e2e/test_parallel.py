"""Work that sessions give to processes and threads of their own, as many as they have cpu for."""

import os

import pytest

CORES = os.cpu_count()
SQUARES = "[0, 1, 4, 9, 16, 25]"


@pytest.fixture
def wide(spawn):
    """A session of the profile `data` that may use two processors."""
    return spawn("data", limits={"cpu_percent": 200})


@pytest.mark.privilege
def test_joblib_of_the_profile_data_has_processes(data_session):
    """It tries once, when it is imported: in the zygote."""
    assert data_session.value("import joblib; joblib.effective_n_jobs(4)") == "4"


def test_joblib_counts_the_processors_of_the_session(spawn, wide):
    count = "import joblib; joblib.cpu_count()"
    assert wide.value(count) == str(min(2, CORES))
    assert spawn("min").value(count) == "1"


@pytest.mark.parametrize("backend", [
    pytest.param("loky", marks=pytest.mark.privilege), "multiprocessing", "threading"])
@pytest.mark.sampled(4)
def test_joblib_with_two_workers(wide, backend):
    out = wide.out(
        f"""
        import glob, os, time
        from joblib import Parallel, delayed
        def square(n):
            open(f"/tmp/begun-{{n}}", "w").close()
            while len(glob.glob("/tmp/begun-*")) < 2: time.sleep(0.01)  # the other one works, too
            return n * n, os.getpid()
        found = Parallel(n_jobs=2, backend={backend!r})(delayed(square)(n) for n in range(6))
        print([n for n, _ in found], len({{pid for _, pid in found}}), os.getpid() in
              {{pid for _, pid in found}})
        """,
        timeout_ms=100_000,
    )
    assert out == f"{SQUARES} {'1 True' if backend == 'threading' else '2 False'}\n"


@pytest.mark.slow
def test_joblib_where_nothing_was_loaded_before(session):
    assert session.value(
        "from joblib import Parallel, delayed; Parallel(n_jobs=2)(delayed(pow)(n, 2) for n in "
        "range(6))", timeout_ms=100_000) == SQUARES


@pytest.mark.slow
def test_scikit_learn_searches_with_two_jobs(wide):
    assert wide.out(
        """
        from sklearn.datasets import load_iris
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        search = GridSearchCV(LogisticRegression(max_iter=500), {'C': [0.1, 1, 10]}, n_jobs=2)
        print(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9)
        """,
        timeout_ms=100_000,
    ) == "True\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_process_pool_executor(spawn, method):
    session = spawn("min")
    assert session.out(
        f"""
        import multiprocessing, math
        from concurrent.futures import ProcessPoolExecutor
        context = multiprocessing.get_context({method!r})
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            print(list(pool.map(math.isqrt, [1, 4, 9, 16])))
        """,
        timeout_ms=100_000,
    ) == "[1, 2, 3, 4]\n"


def test_shared_memory_of_two_processes(session):
    assert session.out(
        """
        from multiprocessing import Process, shared_memory, get_context
        block = shared_memory.SharedMemory(create=True, size=8)
        def fill(name):
            other = shared_memory.SharedMemory(name)
            other.buf[0] = 42
            other.close()
        child = get_context('fork').Process(target=fill, args=(block.name,))
        child.start(); child.join()
        print(block.buf[0])
        block.close(); block.unlink()
        """
    ) == "42\n"


NODE_THREADS = """
const { Worker } = require('worker_threads');
const job = n => new Promise((done, fail) => {
    const worker = new Worker(
        `const { parentPort, workerData } = require('worker_threads');
         parentPort.postMessage(workerData * workerData)`, { eval: true, workerData: n });
    worker.on('message', done); worker.on('error', fail);
});
console.log(JSON.stringify(await Promise.all([1, 2, 3, 4].map(job))));
"""

NODE_CLUSTER = """
require('fs').writeFileSync('/workspace/cluster.js', `
const cluster = require('cluster'), http = require('http');
if (cluster.isPrimary) {
    let n = 0;
    for (let i = 0; i < 2; i++) cluster.fork();
    cluster.on('listening', (_, address) => {
        if (++n < 2) return;
        http.get({ port: address.port }, answer => {
            answer.on('data', text => console.log('' + text));
            answer.on('end', () => process.exit());
        });
    });
} else http.createServer((_, answer) => answer.end('from a worker')).listen(0);
`);
console.log(require('child_process').execFileSync('node', ['/workspace/cluster.js']) + '');
"""


@pytest.mark.parametrize("code, expected", [(NODE_THREADS, "[1,4,9,16]"),
                                            (NODE_CLUSTER, "from a worker")])
def test_workers_of_node(spawn_runtime, code, expected):
    assert spawn_runtime("node").out(code, timeout_ms=60_000).strip() == expected


# --- and checkpoints ------------------------------------------------------------------------------


def test_while_workers_live_checkpoints_say_why_they_are_none(spawn, eventually):
    """The threads that lead them cannot be copied."""
    session = spawn("min", checkpoints="every")

    def last_restores(how):
        """The answer may come before the interpreter says what became of its copy."""
        def look():
            last = session.checkpoints().checkpoints[-1]
            return last if last["restore"] == how and last["files"] != "recording" else None
        return eventually(look, f"a checkpoint that restores: {how}")

    session.exec("x = 1")
    session.exec(
        "from multiprocessing import get_context\n"
        "pool = get_context('fork').Pool(2)\n"
        "pool.map(abs, [-1, -2])")
    assert "threads ran" in last_restores("no")["reason"]
    assert session.value("pool.map(abs, [-3])") == "[3]"
    session.exec("pool.terminate(); pool.join(); del pool")
    assert last_restores("process")["reason"] is None


@pytest.mark.slow
def test_undo_ends_the_workers_of_the_undone_cells(daemon, spawn, eventually):
    work = ("import joblib; joblib.Parallel(n_jobs=2)(joblib.delayed(pow)(n, 2) for n in range(4))")
    session = spawn("data", checkpoints="every", limits={"cpu_percent": 200})
    kept = session.exec("x = 1")["checkpoint"]
    jail = daemon.jail(session)
    assert session.value(work, timeout_ms=100_000) == "[0, 1, 4, 9]"
    n_workers = int(session.value("import psutil; len(psutil.Process().children(recursive=True))"))
    assert n_workers >= 2
    before = len(jail())
    session.client.call("POST", f"{session.path}/undo", {"to": kept})
    eventually(lambda: len(jail()) <= before - n_workers, "the end of the workers")
    assert session.value("x") == "1"
    assert session.value(work, timeout_ms=100_000) == "[0, 1, 4, 9]"
