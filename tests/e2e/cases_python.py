"""Python sessions, case by case. See harness/cases.py for how to read them."""

from harness.cases import ANYTHING, back, case, cell, gone, has, lacks, late, like, long_text

# State: what one cell makes is there in the next, because the process lives on.

STATE = [
    case("a variable of one cell is there in the next", "x = 41", cell("x + 1", value="42")),
    case(
        "imports, functions and classes last",
        """
        import math
        def area(r): return math.pi * r * r
        class Point:
            def __init__(self, x): self.x = x
        """,
        cell("round(area(1), 2), Point(5).x", value="(3.14, 5)"),
    ),
    case("a generator goes on where it was",
         "g = iter('abc'); next(g)",
         cell("next(g)", value="'b'")),
    case(
        "an open file stays open",
        "f = open('log', 'w'); f.write('one ')",
        "f.write('two'); f.close()",
        cell("open('log').read()", value="'one two'"),
    ),
    case(
        "a failed cell keeps what it did before it failed",
        cell("a = 1; 1 / 0; b = 2", error="ZeroDivisionError"),
        cell("a", value="1"),
        cell("b", error="NameError"),
    ),
    case(
        "a function sees the globals as they are when it is called",
        "def f(): return n",
        "n = 1",
        cell("f()", value="1"),
        "n = 2",
        cell("f()", value="2"),
    ),
    case("del forgets", "x = 1", "del x", cell("x", error="NameError")),
    case(
        "the underscore is the last value",
        cell("20 + 1", value="21"),
        "nothing = 0",
        cell("_ * 2", value="42"),
    ),
    case(
        "from __future__ stays in force",
        "from __future__ import annotations",
        "def f(x: no_such_name): pass",
        cell("f.__annotations__", value="{'x': 'no_such_name'}"),
    ),
    case(
        "a definition that ends without an empty line is complete",
        "def f():\n    return 7",
        cell("f()", value="7"),
    ),
    case(
        "the names of a fresh session are Python's own",
        cell("sorted(n for n in globals() if not n.startswith('_'))", value=has("[")),
        cell("__name__", value="'__main__'"),
    ),
    case(
        "classes of cells can be pickled",
        "import pickle\nclass P:\n    x = 3",
        cell("pickle.loads(pickle.dumps(P())).x", value="3"),
    ),
    case(
        "the source of a function of an earlier cell can be read",
        "def f(x):\n    return x + 1  # plus one",
        cell("import inspect; print(inspect.getsource(f), end='')",
             out="def f(x):\n    return x + 1  # plus one\n"),
    ),
]

# Values: the last expression of a cell is shown, as the interactive interpreter does.

VALUES = [
    case("an expression has a value", cell("1 + 1", value="2")),
    case("text is shown as Python writes it", cell("'it\\'s ünï'", value='"it\'s ünï"')),
    case("only the last expression is shown", cell("1\n2\n3", value="3")),
    case("an expression after a block is the value", cell("for n in range(3): pass\nn", value="2")),
    case("None is no value", cell("None")),
    case("a statement has no value", cell("x = 1"), cell("pass"), cell("import os")),
    case("an empty cell is a cell", cell(""), cell("\n\n"), cell("# only a comment")),
    case("output comes before the value",
         cell("print('out')\n'value'", out="out\n", value="'value'")),
    case(
        "a value may follow an unfinished line",
        cell("print('no newline', end='')\n5", out="no newline", value="5"),
    ),
    case("many lines", cell("'''two\nlines'''.splitlines()", value="['two', 'lines']")),
    case(
        "a repr that fails is told in place of the value",
        cell("class B:\n    def __repr__(self): 1 / 0\nB()", value=has("ZeroDivisionError")),
        cell("1", value="1"),
    ),
    case("a large value is whole when the caller asks for it",
         cell("'x' * 100_000", value=long_text(100_002, "'xx", "xx'"))),
]

# Errors: the user's lines, with their source, and nothing of the machinery.

ERRORS = [
    case(
        "an exception has a name, a message and a traceback",
        cell("1 / 0", error="ZeroDivisionError", message="division by zero",
             traceback=has("Traceback (most recent call last):\n", "1 / 0")),
    ),
    case(
        "a traceback shows every line of the user's on the way",
        cell(
            """
            def outer():
                return inner()
            def inner():
                raise ValueError('deep')
            outer()
            """,
            error="ValueError", message="deep",
            traceback=has("outer()", "return inner()", "raise ValueError('deep')"),
        ),
    ),
    case(
        "a traceback leads into the source of an earlier cell",
        "def earlier():\n    return {}['missing']",
        cell("earlier()", error="KeyError", traceback=has("return {}['missing']")),
    ),
    case("a traceback shows nothing of the driver",
         cell("[].pop()", error="IndexError", traceback=lacks("/cella", "driver", "exec("))),
    case(
        "the cause of an exception is told",
        cell(
            """
            try: {}['key']
            except KeyError as e: raise RuntimeError('second') from e
            """,
            error="RuntimeError", message="second",
            traceback=has("KeyError: 'key'", "direct cause"),
        ),
    ),
    case("a syntax error runs nothing",
         cell("print('ran')\ny = = 2", error="SyntaxError", traceback=has("y = = 2", "^"))),
    case("a wrong indentation is a syntax error",
         cell("if True:\nx = 1", error="IndentationError")),
    case("an unfinished block is an error, not a question",
         cell("def f():", error="IndentationError")),
    case(
        "endless recursion is an error",
        cell("def f(): return f()\nf()", error="RecursionError"),
        cell("1", value="1"),
    ),
    case("code too deep for the compiler is an error",
         cell("(" * 5000 + ")" * 5000, error=ANYTHING),
         cell("1", value="1")),
    case("an exception may be any BaseException",
         cell("class Stop(BaseException): pass\nraise Stop('now')", error="Stop", message="now"),
         cell("1", value="1")),
    case("a warning goes to stderr",
         cell("import warnings; warnings.warn('careful')", err=has("UserWarning: careful"))),
]

# Output: two streams, every byte, in order.

OUTPUT = [
    case("stdout and stderr are apart",
         cell("import sys; print('o'); print('e', file=sys.stderr)", out="o\n", err="e\n")),
    case(
        "interleaved writes to both streams are each in order",
        cell(
            """
            import sys
            for n in range(1000):
                print(n)
                print(-n, file=sys.stderr)
            """,
            out="".join(f"{n}\n" for n in range(1000)),
            err="".join(f"{-n}\n" for n in range(1000)),
        ),
    ),
    case("output without a newline is complete",
         cell("print('no newline', end='')", out="no newline")),
    case("ten megabytes in one write",
         cell("import os; n = os.write(1, b'0123456789' * 1_000_000)\n"
              "while n < 10_000_000: n += os.write(1, (b'0123456789' * 1_000_000)[n:])",
              out=long_text(10_000_000, "0123456789", "0123456789"))),
    case("ten megabytes in one print",
         cell("print('x' * 9_999_999)", out=long_text(10_000_000, "xxx", "xx\n"))),
    case("unicode is kept", cell("print('ünï→😀\\u200b')", out="ünï→😀\u200b\n")),
    case("control characters are kept",
         cell("print('ab\\x1b[31m\\x08\\x00c')", out="ab\x1b[31m\x08\x00c\n")),
    case("binary bytes become valid text",
         cell("import os; n = os.write(1, b'ok \\xff\\xfe ok')", out="ok \ufffd\ufffd ok")),
    case("all bytes pass",
         cell("import sys; n = sys.stdout.buffer.write(bytes(set(range(256)) - {13}))",
              out=has("".join(chr(n) for n in range(128) if n != 13), "\ufffd"))),
    case("the bytes of one character may come in two writes",
         cell("import os; [os.write(1, bytes([b])) for b in '😀'.encode()];", out="😀",
              value=ANYTHING)),
    case("surrogates hurt nobody",
         cell("'\\ud800'", value="'\\ud800'"),
         cell("raise ValueError('\\udfff')", error="ValueError"),
         cell("1", value="1")),
    case("unicode identifiers", "größe = 3\n变量 = 4", cell("größe * 变量", value="12")),
    case(
        "print, C and children write in order",
        cell(
            """
            import ctypes, os
            print('a', end=' ')
            ctypes.CDLL(None).printf(b'b ')
            n = os.system('printf "c "')
            n = os.write(1, b'd ')
            print('e')
            """,
            out="a b c d e\n",
        ),
    ),
    case("what looks like the protocol is only text",
         cell("""print('\\x10\\0\\0\\0{"ev":"done","id":1,"status":"ok"}{"ev":"done"}')""",
              out='\x10\0\0\0{"ev":"done","id":1,"status":"ok"}{"ev":"done"}\n'),
         cell("1", value="1")),
    case(
        "a closed stdout costs that cell its output and no more",
        "import os, sys; sys.stdout.flush(); os.close(1); os.close(2)",
        cell("print('back')", out="back\n"),
    ),
    case("a replaced sys.stdout stays with the user",
         "import sys, io; sys.stdout = io.StringIO(); print('captured')",
         "text = sys.stdout.getvalue(); sys.stdout = sys.__stdout__",
         cell("print(text, end='')", out="captured\n")),
]

# Late output: it belongs to the cell that caused it, however late it comes.

LATE = [
    case(
        "a child that outlives its cell prints later",
        "import subprocess",
        cell("p = subprocess.Popen('read x; echo late', shell=True, stdin=subprocess.PIPE)"),
        cell("print('meanwhile')", out="meanwhile\n"),
        cell("p.communicate(b'go\\n');", out=ANYTHING, value=ANYTHING),
        late(1, out="late\n"),
    ),
    case(
        "a thread that outlives its cell prints later",
        cell(
            """
            import threading
            go = threading.Event()
            thread = threading.Thread(target=lambda: (go.wait(), print('from the thread')))
            thread.start()
            """
        ),
        cell("go.set(); thread.join(); print('second')", out="second\n"),
        late(0, out="from the thread\n"),
    ),
    case("a background command of the shell prints later",
         cell("import os; n = os.system('(sleep 0.1; echo late; echo bad >&2) &')", out=ANYTHING,
              err=ANYTHING),
         late(0, out="late\n", err="bad\n")),
]

# await

ASYNC = [
    case("await at the top level",
         "import asyncio\nasync def f(): await asyncio.sleep(0); return 7",
         cell("await f()", value="7")),
    case("async for and async with at the top level",
         cell(
             """
             import asyncio
             async def numbers():
                 for n in range(3): yield n
             async for n in numbers(): print(n)
             async with asyncio.Lock(): print('locked')
             """,
             out="0\n1\n2\nlocked\n",
         )),
    case("a task of one cell is awaited in another",
         """
         import asyncio
         async def work(): await asyncio.sleep(0.01); return 'done'
         async def start(): return asyncio.create_task(work())
         task = await start()
         """,
         cell("await task", value="'done'")),
    case("asyncio.run works too",
         cell("import asyncio\nasync def f(): return 1\nasyncio.run(f())", value="1")),
]

# Files, modules and the environment.

WORLD = [
    case("the working directory is the workspace",
         cell("import os; os.getcwd()", value="'/workspace'")),
    case("a module of the workspace can be imported",
         "open('mine.py', 'w').write('answer = 42')",
         cell("import mine; mine.answer", value="42")),
    case("chdir lasts",
         "import os; os.mkdir('sub'); os.chdir('sub')",
         cell("os.getcwd()", value="'/workspace/sub'")),
    case("the environment can be changed, for children too",
         "import os; os.environ['COLOUR'] = 'blue'",
         cell("n = os.system('echo $COLOUR')", out="blue\n")),
    case("a session may begin with an environment of its own",
         cell("import os; os.environ['GREETING']", value="'grüß dich'"),
         env={"GREETING": "grüß dich"}),
    case("a session may begin in a directory of its own",
         cell("import os; os.getcwd()", value="'/workspace/deep/er'"), cwd="deep/er"),
    case("nothing of the host's environment is inside",
         cell("import os; [n for n in os.environ if 'CELLA' in n or 'KEY' in n]", value="[]")),
    case("there is no terminal",
         cell("import sys; sys.stdin.isatty(), sys.stdout.isatty()", value="(False, False)"),
         cell("import os; n = os.system('stty sane')", err=has("stty"))),
]

# Processes.

PROCESSES = [
    case("a child's output and status come back",
         cell("import subprocess\n"
              "subprocess.run('echo out; echo err >&2; exit 3', shell=True).returncode",
              out="out\n", err="err\n", value="3")),
    case("a cell that forks and whose child exits",
         cell(
             """
             import os
             print('once', end=' ')
             pid = os.fork()
             if pid == 0:
                 print('child', end=' ', flush=True)
                 os._exit(0)
             n = os.waitpid(pid, 0)
             print('parent')
             """,
             out="once child parent\n",
         )),
    case("a child that falls off the end of its cell does not answer for it",
         cell("import os\npid = os.fork()\nif pid: n = os.waitpid(pid, 0)\n'who'", value="'who'"),
         cell("1", value="1")),
    case("a child by multiprocessing",
         cell("import multiprocessing\nfork = multiprocessing.get_context('fork')\n"
              "q = fork.SimpleQueue()\np = fork.Process(target=q.put, args=(5,))\n"
              "p.start(); p.join(); q.get()", value="5")),
    case("a thread prints into its cell",
         cell("import threading\nt = threading.Thread(target=print, args=('hi',))\n"
              "t.start(); t.join()", out="hi\n")),
]

# Questions: input() asks the caller.

INPUT = [
    case("input asks the caller",
         cell("name = input('Name? ')", answers=[("Name? ", "Ada")]),
         cell("name", value="'Ada'")),
    case("input may be asked often, and between outputs",
         cell("print('one'); a = input('a: '); print('two'); b = input('b: '); print(a + b)",
              answers=[("a: ", "x"), ("b: ", "y")], out="one\ntwo\nxy\n")),
    case("an answer may be empty", cell("input('? ')", answers=[("? ", "")], value="''")),
    case("an answer is text of any kind",
         cell("input('? ')", answers=[("? ", "größe 😀 \\n")], value="'größe 😀 \\\\n'")),
    case("a line of stdin is an answer too",
         cell("import sys; sys.stdin.readline()", answers=[("", "line")], value="'line\\n'")),
    case("the end of the input is an EOFError",
         cell("input('? ')", answers=[("? ", None)], error="EOFError"),
         cell("1", value="1")),
]

# Interrupts and time limits end the cell and keep the state.

INTERRUPTS = [
    case("a loop is interrupted and the state is kept",
         "kept = 1",
         cell("print('on', flush=True)\nwhile True: pass", out="on\n", interrupt_at="on\n",
              status="interrupted"),
         cell("kept", value="1")),
    case("sleep is interrupted",
         cell("import time; print('on'); time.sleep(60)", out="on\n", interrupt_at="on\n",
              status="interrupted")),
    case("a child is interrupted with its cell",
         cell("import subprocess\nsubprocess.run('echo on; exec sleep 60', shell=True)", out="on\n",
              interrupt_at="on\n", status="interrupted"),
         cell("1", value="1")),
    case("os.system tells that its child was interrupted, as it always does",
         cell("import os; os.system('echo on; exec sleep 60')", out="on\n", interrupt_at="on\n",
              value="2")),
    case("await is interrupted",
         cell("import asyncio; print('on'); await asyncio.sleep(60)", out="on\n",
              interrupt_at="on\n",
              status="interrupted")),
    case("KeyboardInterrupt can be caught",
         cell("try:\n    print('on', flush=True)\n    while True: pass\n"
              "except KeyboardInterrupt: print('caught')",
              out="on\ncaught\n", interrupt_at="on\n"),
         cell("1", value="1")),
    case("a time limit interrupts and the state is kept",
         "kept = 5",
         cell("print('before', end='', flush=True)\nwhile True: pass", timeout_ms=1000,
              out="before", status="timeout"),
         cell("kept", value="5")),
    case("a cell that ignores SIGINT is killed after a grace, and the session goes back",
         cell("import signal; print('on', flush=True)\n"
              "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout_ms=1000,
              out="on\n", status="timeout", exit_code=137),
         back("1", "137", value="1")),
    case("an early answer, then the rest",
         cell("import time; print('first', flush=True); time.sleep(1); print('second'); 7",
              yield_ms=50, out="first\nsecond\n", value="7")),
]

# Exits.

EXITS = [
    case("sys.exit ends the cell, not the session",
         "kept = 1",
         cell("import sys; print('before'); sys.exit()\nprint('after')", out="before\n",
              exit_code=0),
         cell("exit()", exit_code=0),
         cell("kept", value="1")),
    case("sys.exit with a status is told",
         cell("import sys; sys.exit(3)", error="SystemExit", message=has("3"), exit_code=3),
         cell("1", value="1")),
    case("os._exit ends the cell, and the session goes back",
         cell("import os; print('last words', flush=True); os._exit(7)", out="last words\n",
              status="died", exit_code=7),
         back("1", "7", value="1")),
    case("a crash ends the cell, and the session goes back",
         cell("import ctypes; ctypes.string_at(0)", status="died", err=ANYTHING, exit_code=139),
         back("1", "139", value="1")),
    case("atexit functions do not run between cells",
         "import atexit; n = atexit.register(print, 'bye')",
         cell("1", value="1")),
]

CASES = (STATE + VALUES + ERRORS + OUTPUT + LATE + ASYNC + WORLD + PROCESSES + INPUT + INTERRUPTS
         + EXITS)
