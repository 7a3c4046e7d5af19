"""The system calls a checker may make, as a program for the kernel's filter: an allow-list, assembled here.

What is not listed fails with EPERM. No socket of any family can be made, no namespace, no mount, no device, no
tracing, no keyring; what glibc can do without is answered ENOSYS, so that it falls back to an older call whose
arguments the filter can see.
"""

import struct
from collections.abc import Mapping

# name:number on x86_64:number on aarch64, `-` where the machine has no such call.
_ALLOWED = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
preadv2:327:286 pwritev2:328:287 close:3:57 close_range:436:436 fstat:5:80 stat:4:- lstat:6:-
newfstatat:262:79 statx:332:291 lseek:8:62 poll:7:- ppoll:271:73 select:23:- pselect6:270:72 mmap:9:222
mprotect:10:226 munmap:11:215 mremap:25:216 madvise:28:233 msync:26:227 brk:12:214 rt_sigaction:13:134
rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigsuspend:130:133 rt_sigtimedwait:128:137 rt_sigpending:127:136
sigaltstack:131:132 pause:34:- access:21:- faccessat:269:48 faccessat2:439:439 pipe:22:- pipe2:293:59
sched_yield:24:124 sched_getaffinity:204:123 dup:32:23 dup2:33:- dup3:292:24 nanosleep:35:101
clock_nanosleep:230:115 getitimer:36:102 setitimer:38:103 alarm:37:- getpid:39:172 getppid:110:173
gettid:186:178 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getresuid:118:148
getresgid:120:150 getgroups:115:158 getpgrp:111:- getpgid:121:155 getsid:124:156 setsid:112:157
setpgid:109:154 fork:57:- vfork:58:- execve:59:221 exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95
kill:62:129 tkill:200:130 tgkill:234:131 uname:63:160 fcntl:72:25 flock:73:32 fsync:74:82 fdatasync:75:83
truncate:76:45 ftruncate:77:46 getdents64:217:61 getcwd:79:17 chdir:80:49 fchdir:81:50 open:2:- openat:257:56
creat:85:- rename:82:- renameat:264:38 renameat2:316:276 mkdir:83:- mkdirat:258:34 rmdir:84:- link:86:-
linkat:265:37 unlink:87:- unlinkat:263:35 symlink:88:- symlinkat:266:36 readlink:89:- readlinkat:267:78
chmod:90:- fchmod:91:52 fchmodat:268:53 umask:95:166 gettimeofday:96:169 time:201:- clock_gettime:228:113
clock_getres:229:114 getrlimit:97:163 setrlimit:160:164 prlimit64:302:261 getrusage:98:165 times:100:153
futex:202:98 set_robust_list:273:99 get_robust_list:274:100 rseq:334:293 set_tid_address:218:96
membarrier:324:283 arch_prctl:158:- getrandom:318:278 eventfd:284:- eventfd2:290:19 epoll_create:213:-
epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22 epoll_pwait2:441:441
timerfd_create:283:85 timerfd_settime:286:86 timerfd_gettime:287:87 timer_create:222:107 timer_settime:223:110
timer_gettime:224:108 timer_delete:226:111 getcpu:309:168 copy_file_range:326:285 sendfile:40:71
fadvise64:221:223 fallocate:285:47 utimensat:280:88 statfs:137:43 fstatfs:138:44 restart_syscall:219:128
getpriority:140:141 sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
sched_get_priority_min:147:126 capget:125:90
"""

# clone(2) without a new namespace, without tracing and without another parent; the flags are its first argument.
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_REFUSED = 0x7E020000 | 0x80 | 0x2000 | 0x8000
# ioctl(2): only what asks a stream about itself. TCGETS, FIONBIO, FIONREAD, FIONCLEX, FIOCLEX, TIOCGWINSZ.
_IOCTL = {"x86_64": 16, "aarch64": 29}
_IOCTL_ALLOWED = (0x5401, 0x5421, 0x541B, 0x5450, 0x5451, 0x5413)
# prctl(2): the death signal, names, and questions about what holds.
_PRCTL = {"x86_64": 157, "aarch64": 167}
_PRCTL_ALLOWED = (1, 2, 3, 15, 16, 21, 23, 39)
# clone3 and openat2 keep their arguments in memory, where a filter cannot look.
_ABSENT = (435, 437)

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LOAD_WORD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARGUMENTS = 0, 4, 16
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_REFUSE, _UNKNOWN = 0x00050000 | 1, 0x00050000 | 38


def allowed_calls(machine: str) -> Mapping[str, int]:
    """The calls that are allowed whatever their arguments, by name; the others are in `filter_program`."""
    column = tuple(_AUDIT_ARCH).index(machine) + 1
    rows = [row.split(":") for row in _ALLOWED.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def is_known_machine(machine: str) -> bool:
    """True if the filter can be assembled for this machine (as in `uname -m`)."""
    return machine in _AUDIT_ARCH


def filter_program(machine: str) -> bytes:
    """The filter as the kernel takes it: `struct sock_filter` after `struct sock_filter`.

    A call of another architecture (32-bit, say) kills the process: its numbers mean something else. The x32 numbers
    have a high bit set and so are on no list.
    """
    program = [
        _instruction(_LOAD_WORD, _OFFSET_ARCH),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD_WORD, _OFFSET_NUMBER),
    ]
    for number in allowed_calls(machine).values():
        program += [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW)]
    program += _with_argument(
        _CLONE[machine],
        0,
        [
            _instruction(_JUMP_SET, _CLONE_REFUSED, 0, 1),
            _instruction(_RETURN, _REFUSE),
            _instruction(_RETURN, _ALLOW),
        ],
    )
    program += _with_argument(_IOCTL[machine], 1, _one_of(_IOCTL_ALLOWED))
    program += _with_argument(_PRCTL[machine], 0, _one_of(_PRCTL_ALLOWED))
    for number in _ABSENT:
        program += [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, _UNKNOWN)]
    program.append(_instruction(_RETURN, _REFUSE))
    return b"".join(program)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _with_argument(number: int, argument: int, decision: list[bytes]) -> list[bytes]:
    """Decides by the low word of one argument; both machines keep it first."""
    load = _instruction(_LOAD_WORD, _OFFSET_ARGUMENTS + 8 * argument)
    return [_instruction(_JUMP_EQUAL, number, 0, len(decision) + 1), load, *decision]


def _one_of(values: tuple[int, ...]) -> list[bytes]:
    decision: list[bytes] = []
    for value in values:
        decision += [_instruction(_JUMP_EQUAL, value, 0, 1), _instruction(_RETURN, _ALLOW)]
    return [*decision, _instruction(_RETURN, _REFUSE)]
