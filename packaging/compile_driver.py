"""compile_driver.py OUT_DIR FOLDER FILE.py...

Compiles modules that will lie in FOLDER, each to OUT_DIR/MODULE.TAG.pyc as __pycache__ has it.
Their times are not looked at when they are loaded: source and bytecode come out of one build.
"""

import pathlib
import py_compile
import sys

out_dir, folder, *files = sys.argv[1:]
for file in map(pathlib.Path, files):
    py_compile.compile(
        str(file),
        cfile=f"{out_dir}/{file.stem}.{sys.implementation.cache_tag}.pyc",
        dfile=f"{folder}/{file.name}",
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
