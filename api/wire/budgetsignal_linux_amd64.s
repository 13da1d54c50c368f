#include "textflag.h"

// func onBudget() uintptr
TEXT ·onBudget(SB), NOSPLIT, $0-8
	LEAQ ·lowerThread(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// lowerThread is a signal handler. The kernel has saved all registers.
TEXT ·lowerThread(SB), NOSPLIT|NOFRAME, $0
	MOVL $1, AX
	LOCK
	XADDQ AX, ·overruns(SB)
	MOVL $314, AX // sched_setattr
	XORL DI, DI   // this thread
	LEAQ ·preferredAttr(SB), SI
	XORL DX, DX   // no flags
	SYSCALL
	RET
