"""Runs a library's own tests by pytest and writes down what became of each, line by line, so that
what is known survives the interpreter. The same file runs outside of Cella, as an ordinary user,
and in a session, there as a module of the cell or as a process: `suite_runner.py ORDER`.

The order is a file of JSON: the folder of the libraries, the folder to be in, code that
goes before, pytest's arguments, the tests to run if not all, and where the results go."""

import json
import os
import sys


class Recorder:
    """A plugin of pytest."""

    def __init__(self, path, only):
        self.file, self.only = open(path, "w", buffering=1), set(only)

    def pytest_collection_modifyitems(self, items):
        if self.only:
            items[:] = [item for item in items if item.nodeid in self.only]

    def put(self, test, outcome, text=""):
        self.file.write(json.dumps({"test": test, "outcome": outcome, "text": text}) + "\n")

    def pytest_runtest_logstart(self, nodeid, location):
        self.put(nodeid, "begun")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            text = str(report.longrepr or "") if report.outcome == "failed" else ""
            self.put(report.nodeid, report.outcome, text[-6000:])

    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            self.put(report.nodeid, "failed", str(report.longrepr)[-6000:])


def main(order_path):
    with open(order_path) as file:
        order = json.load(file)
    libraries = os.path.abspath(order["libraries"])
    results = os.path.abspath(order["results"])
    sys.path.insert(0, libraries)
    os.environ["PYTHONPATH"] = libraries  # of what the tests start
    os.environ["PATH"] = f"{libraries}/bin:{os.environ['PATH']}"
    os.chdir(order["folder"])
    exec(order["before"])
    import pytest  # the one of `libraries`
    return int(pytest.main(order["arguments"], [Recorder(results, order["only"])]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
