#include "textflag.h"

// func onBudget() uintptr
TEXT ·onBudget(SB), NOSPLIT, $0-8
	MOVD $·lowerThread(SB), R0
	MOVD R0, ret+0(FP)
	RET

// lowerThread is a signal handler. The kernel has saved all registers.
TEXT ·lowerThread(SB), NOSPLIT|NOFRAME, $0
	MOVD $·overruns(SB), R0
again:
	LDAXR (R0), R1
	ADD $1, R1, R1
	STLXR R1, (R0), R2
	CBNZ R2, again
	MOVD $274, R8 // sched_setattr
	MOVD ZR, R0   // this thread
	MOVD $·preferredAttr(SB), R1
	MOVD ZR, R2   // no flags
	SVC
	RET
