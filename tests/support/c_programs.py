"""C programs around exported functions: they run without an environment, and print bits.

Each argument, result and memory lies between pages that nobody may touch: at their end or, with
`at_end` false, at their beginning.
"""

import re
import shutil
import subprocess

import numpy as np
import pytest

HEAD = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "{header}"

static unsigned char *room(size_t size) {{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), own = (size / page + 1) * page;
    unsigned char *found = mmap(0, own + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED || mprotect(found + page, own, PROT_READ | PROT_WRITE)) exit(9);
    memset(found + page, 0xA5, own);
    return {at_end} ? found + page + own - size : found + page;
}}
"""

THREADS = """\
static void *again(void *out) {
    int bad = 0;
    for (int n = 0; n < 50; n++) bad |= call(out, room(WORK));
    return bad ? out : 0;
}
"""


def compiler(name="gcc"):
    """Return a compiler; skip the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def source(made, name, args, at_end, threads):
    """Return the source of a program that calls a function, and prints status and results."""
    header = made.header.read_text()
    prototype = re.search(rf"^int {name}\((.*), void \*work\);$", header, re.M)
    parameters = prototype[1].split(", ")
    sizes = results_in(header, name)
    lines = [HEAD.format(header=made.header.name, at_end=int(at_end))]
    lines.append(f"#define WORK {name}_work_bytes()")
    calls = []
    for i, x in enumerate(args):
        text = ",".join(map(str, np.ascontiguousarray(x).tobytes())) or "0"
        lines.append(f"static const unsigned char bytes{i}[] = {{{text}}};")
        lines.append(f"static unsigned char *in{i};")
        calls.append(f"(const void *)in{i}")
    assert len(parameters) == len(args) + len(sizes)
    calls += [f"(void *)(results[{k}])" for k in range(len(sizes))]
    lines.append("static int call(void *out, void *work) {")
    lines.append(
        f"    unsigned char **results = out; return {name}({', '.join([*calls, 'work'])});"
    )
    lines.append("}")
    static = ", ".join(calls)
    lines.append(f"static int call_static(void *out) {{ unsigned char **results = out; "
                 f"return {name}_static({static}); }}")  # fmt: skip
    lines.append(f"static const size_t sizes[] = {{{', '.join(map(str, [*sizes, 0]))}}};")
    lines.append(f"#define COUNT {len(sizes)}")
    lines.append("static void make(unsigned char **out) {"
                 " for (int k = 0; k < COUNT; k++) out[k] = room(sizes[k]); }")  # fmt: skip
    if threads:
        lines.append(THREADS)
    lines.append("int main(void) {")
    for i, x in enumerate(args):
        lines.append(f"    in{i} = room({x.nbytes}); memcpy(in{i}, bytes{i}, {x.nbytes});")
    lines.append("    unsigned char *out[COUNT + 1], *other[COUNT + 1]; make(out); make(other);")
    lines.append("    int status = call(out, room(WORK)), second = call_static(other);")
    lines.append("    if (status != second) return 3;")
    for i, x in enumerate(args):
        lines.append(f"    if (memcmp(in{i}, bytes{i}, {x.nbytes})) return 4;")
    lines.append('    printf("%d\\n", status);')
    lines.append("    for (int k = 0; k < COUNT && !status; k++) {"
                 " if (memcmp(out[k], other[k], sizes[k])) return 5;"
                 ' for (size_t n = 0; n < sizes[k]; n++) printf("%02x", out[k][n]);'
                 ' printf("\\n"); }')  # fmt: skip
    if threads:
        lines.append(f"""\
    pthread_t own[{threads}]; unsigned char *outs[{threads}][COUNT + 1];
    for (int n = 0; n < {threads}; n++) {{
        make(outs[n]); if (pthread_create(&own[n], 0, again, outs[n])) return 6;
    }}
    for (int n = 0; n < {threads}; n++) {{
        void *bad; pthread_join(own[n], &bad); if (bad) return 7;
        for (int k = 0; k < COUNT; k++) if (memcmp(outs[n][k], out[k], sizes[k])) return 8;
    }}""")
    lines.append("    return 0;\n}")
    return "\n".join(lines)


TYPES = {"double": 8, "float": 4, "unsigned char": 1}


def results_in(header, name):
    """Return the bytes of the results that a header describes."""
    block = re.search(rf"/\* {name}: [^\n]* in Python\n.*?\*/", header, re.S)[0]
    found = []
    for kind, form in re.findall(
        r"^ \*   \w+: ([\w ]+), (a number|[\dx]+)", block.split("Results:")[1], re.M
    ):
        item = TYPES.get(kind) or int(re.search(r"\d+", kind)[0]) // 8
        shape = [] if form == "a number" else [int(n) for n in form.split("x")]
        found.append(item * int(np.prod(shape, dtype=int)))
    return found


def run(made, name, args, folder, at_end=True, threads=0, cc="gcc", emulator=(), options=()):
    """Compile and run a program without an environment; return status and the bytes of results."""
    file, program = folder / f"{name}.c", folder / name
    file.write_text(source(made, name, args, at_end, threads))
    command = [compiler(cc), "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(file)]
    command += [f"-I{made.header.parent}", str(made.static), "-lpthread", *options]
    subprocess.run(command, check=True)
    done = subprocess.run([*emulator, str(program)], env={}, capture_output=True, text=True)
    assert done.returncode == 0, f"the program ends with {done.returncode}: {done.stderr}"
    status, *rows = done.stdout.splitlines()
    return int(status), [bytes.fromhex(row) for row in rows]
