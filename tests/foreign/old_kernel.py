"""Starts a program on a kernel that lacks every call which came after Linux 3.10, of 2013: the kernel that glibc 2.17 is found with.

    python3 old_kernel.py PROGRAM ARGUMENTS…

A filter (seccomp) answers these calls as a kernel does that has never heard of them. x86-64 only. What reads the version of the kernel is
still told the real one.
"""

import ctypes
import errno
import os
import struct
import sys

# Numbers of the calls on x86-64, in the order in which they came: from sched_setattr (3.14) to rseq (4.18), and all later ones.
NEWER = [*range(314, 320), *range(321, 335), *range(424, 470)]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, ANSWER = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000


def instruction(code: int, value: int, if_equal: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_equal, otherwise, value)


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def forget(calls: list[int]) -> None:
    """This process and all that it starts have these calls no more."""
    steps = [instruction(LOAD_NUMBER, 0)]
    for call in calls:
        steps += [instruction(JUMP_IF_EQUAL, call, 0, 1), instruction(ANSWER, FAIL | errno.ENOSYS)]
    steps.append(instruction(ANSWER, ALLOW))
    text = ctypes.create_string_buffer(b"".join(steps))
    given = Filter(len(steps), ctypes.addressof(text))
    c = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0)):
        if c.prctl(*words) != 0:
            sys.exit(f"the kernel takes no filter: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        sys.exit("the numbers of the calls are those of x86-64")
    forget(NEWER)
    os.execv(sys.argv[1], sys.argv[1:])
