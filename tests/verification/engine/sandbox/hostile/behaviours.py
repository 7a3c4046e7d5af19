"""A checker that does what the first word of its script file says: the good, the clumsy and the hostile.

Imports nothing that a behaviour does not need, so that it runs under small limits too.
"""

# pathlib would cost more memory and time than the behaviours themselves.
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH110, PTH118, PTH120, PTH123, PTH202, PTH208, PTH211

import os
import sys
import time

VERIFIED = b'{"result": "verified"}'
REFUTED = b'{"result": "refuted"}'


def main(argv):
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    with open(options["--script"], encoding="utf-8") as script:
        name, *words = script.read().split("\n")
    return globals()[f"do_{name}"](options["--output"], *words)


def result(out, content=VERIFIED):
    with open(os.path.join(out, "result.json"), "wb") as file:
        file.write(content)


def evidence(out, name, content=b"{}"):
    path = os.path.join(out, "evidence", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


# What an honest checker does


def do_verify(out):
    print("looked at it")
    evidence(out, "summary.json", b'{"clauses_total": 3}')
    evidence(out, "detail/trace.txt", b"step 1\n")
    result(out)


def do_refute(out):
    result(out, REFUTED)
    return 0


def do_nothing(out):
    return 0


def do_both_streams(out):
    sys.stdout.write("out\n")
    sys.stdout.flush()
    sys.stderr.write("err\n")
    result(out)


def do_describe(out):
    """Everything that the surroundings tell a checker, as evidence."""
    import json
    import resource
    import stat

    soft_limits = {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
        for name in ("AS", "FSIZE", "NOFILE", "CORE", "CPU")
    }
    with open("/proc/self/status", encoding="ascii") as status:
        no_new_privileges = next(line.split()[1] for line in status if line.startswith("NoNewPrivs"))
    told = {
        "environment": sorted(os.environ),
        "directory": sorted(os.listdir()),
        "descriptors": sorted(fd for fd in range(64) if is_open(fd)),
        "stdin": sys.stdin.read(),
        "stdin_is_null": stat.S_ISCHR(os.fstat(0).st_mode),
        "session": os.getsid(0) == os.getpid(),
        "limits": soft_limits,
        "no_new_privileges": no_new_privileges,
        "flags": [sys.flags.isolated, sys.flags.no_site, sys.flags.dont_write_bytecode],
        "json": json.__file__,
    }
    evidence(out, "summary.json", json.dumps(told).encode())
    result(out)


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# How a checker ends


def do_exit(out, status):
    result(out)
    sys.exit(int(status))


def do_leave_at_once(out, status):
    os._exit(int(status))


def do_return(out, status):
    result(out)
    return int(status)


def do_raise(out):
    result(out)
    raise ValueError("the checker's own fault")


def do_say_why_and_exit(out):
    result(out)
    sys.exit("a message instead of a status")


def do_signal_self(out, number):
    result(out)
    os.kill(os.getpid(), int(number))
    time.sleep(30)


def do_recurse(out):
    result(out)
    do_recurse(out)


# Limits


def do_sleep(out):
    result(out)
    time.sleep(600)


def do_ignore_signals(out):
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    result(out)
    while True:
        pass


def do_take_memory(out):
    result(out)
    taken = []
    while True:
        taken.append(bytearray(1 << 20))


def do_fill_disk(out):
    result(out)
    with open("big", "wb") as file:
        while True:
            file.write(bytes(1 << 16))


def do_use_cpu(out):
    """Burns the processor in several threads' worth of processes, so that no wall clock is needed to notice."""
    import resource

    result(out)
    resource.setrlimit(resource.RLIMIT_CPU, (1, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    while True:
        pass


def do_fork_many(out, count):
    result(out)
    for _ in range(int(count)):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    time.sleep(600)


# Things left behind


def do_leave_a_daemon(out, pid_path):
    """Refutes, and leaves a process in a session of its own that would turn the result round."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(pid_path, "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            while True:
                time.sleep(0.01)
                result(out)
        os._exit(0)
    wait_for(pid_path)
    result(out, REFUTED)


def do_leave_a_fork_storm(out, pid_path):
    """Leaves processes that replace themselves as fast as they can."""
    if os.fork() == 0:
        os.setsid()
        with open(pid_path, "w", encoding="ascii") as file:
            file.write(str(os.getsid(0)))
        while True:
            if os.fork() != 0:
                os._exit(0)
    wait_for(pid_path)
    result(out, REFUTED)


def do_run_a_child(out, pid_path):
    if os.fork() == 0:
        os.setsid()
        with open(pid_path, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    wait_for(pid_path)
    time.sleep(600)


def do_leave_a_thread(out):
    import threading

    threading.Thread(target=time.sleep, args=(600,)).start()
    result(out)


def wait_for(path):
    while not os.path.exists(path) or not os.path.getsize(path):
        time.sleep(0.005)


def do_kill_the_supervisor(out):
    result(out)
    os.kill(os.getppid(), 9)
    time.sleep(30)


def do_kill_the_supervisor_from_afar(out, pid_path):
    """As above, from a grandchild that no signal of the parent's death reaches."""
    result(out)
    supervisor = os.getppid()
    if os.fork() == 0:
        os.setsid()
        with open(pid_path, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.kill(supervisor, 9)
        time.sleep(600)
    time.sleep(600)


def do_stop_the_supervisor(out):
    result(out)
    os.kill(os.getppid(), 19)
    time.sleep(600)


# The log


def do_flood(out, megabytes):
    block = b"x" * (1 << 20)
    for _ in range(int(megabytes)):
        os.write(1, block)
    result(out)


def do_flood_for_ever(out):
    while True:
        os.write(2, b"y" * (1 << 16))


def do_dirty_log(out):
    os.write(1, b"\x00\xff\xfe\x1b[31m s VERIFIED \xe2\x80\xae\xe2\x82")
    result(out)


def do_print_a_verdict(out):
    print('s VERIFIED\nVERDICT: verified\n{"result": "verified"}')
    result(out, REFUTED)


# The output


def do_raw_result(out, text):
    result(out, text.encode())


def do_long_result(out):
    result(out, b'{"result": "verified", "reason": "' + b"x" * 70_000 + b'"}')


def do_link_result(out, target):
    os.symlink(target, os.path.join(out, "result.json"))


def do_hard_link_result(out, target):
    os.link(target, os.path.join(out, "result.json"))


def do_fifo_result(out):
    os.mkfifo(os.path.join(out, "result.json"))


def do_result_directory(out):
    os.mkdir(os.path.join(out, "result.json"))


def do_link_evidence(out, target):
    result(out)
    evidence(out, "a.txt")
    os.symlink(target, os.path.join(out, "evidence", "b.txt"))


def do_link_evidence_directory(out, target):
    result(out)
    os.symlink(target, os.path.join(out, "evidence"))


def do_link_directory_in_evidence(out, target):
    result(out)
    evidence(out, "a.txt")
    os.symlink(target, os.path.join(out, "evidence", "folder"))


def do_hard_link_evidence(out, target):
    result(out)
    evidence(out, "a.txt")
    os.link(target, os.path.join(out, "evidence", "b.txt"))


def do_fifo_evidence(out):
    result(out)
    evidence(out, "a.txt")
    os.mkfifo(os.path.join(out, "evidence", "pipe"))


def do_socket_evidence(out):
    import socket

    result(out)
    evidence(out, "a.txt")
    os.chdir(os.path.join(out, "evidence"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("door")


def do_device_evidence(out):
    import stat

    result(out)
    evidence(out, "a.txt")
    os.mknod(os.path.join(out, "evidence", "null"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))


def do_deep_evidence(out, depth):
    result(out)
    os.mkdir(os.path.join(out, "evidence"))
    os.chdir(os.path.join(out, "evidence"))
    for _ in range(int(depth)):
        os.mkdir("d")
        os.chdir("d")
    with open("bottom", "wb") as file:
        file.write(b"x")


def do_many_files(out, count):
    result(out)
    for number in range(int(count)):
        evidence(out, f"{number}.txt")


def do_much_evidence(out, size):
    result(out)
    evidence(out, "half.bin", bytes(int(size) // 2))
    evidence(out, "more/half.bin", bytes(int(size) - int(size) // 2))


def do_sparse_evidence(out):
    result(out)
    evidence(out, "huge.bin")
    os.truncate(os.path.join(out, "evidence", "huge.bin"), 1 << 30)


def do_odd_name(out, name):
    result(out)
    os.mkdir(os.path.join(out, "evidence"))
    path = os.path.join(os.fsencode(out), b"evidence", name.encode("ascii").decode("unicode_escape").encode("latin-1"))
    with open(path, "wb") as file:
        file.write(b"x")


def do_extra_output(out, target):
    result(out)
    os.symlink(target, os.path.join(out, "notes"))


def do_swap_the_output(out, target):
    """Puts another directory where its output directory was, with a result of its own choice."""
    result(out, REFUTED)
    os.rename(out, f"{out}.moved")
    os.symlink(target, out)


def do_lock_the_output(out):
    evidence(out, "closed/file.txt")
    os.mkdir("closed")
    for path in ("closed", os.path.join(out, "evidence", "closed"), os.path.join(out, "evidence")):
        os.chmod(path, 0)
    result(out)
