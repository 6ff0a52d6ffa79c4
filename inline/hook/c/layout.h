/* The part of package inline/layout that the hook routine uses. TestLayout
 * compares every number here with it; hook.c asserts that its structures have
 * these offsets. All are bytes. */
#ifndef MGTRACE_INLINE_LAYOUT_H
#define MGTRACE_INLINE_LAYOUT_H

/* Thread block. */
#define Cursor 0x00
#define End 0x30
#define Process 0x38
#define HookSP 0x48
#define StackLo 0x80
#define StackHi 0x88
#define Held 0x90
#define Missed 0x94
#define AllocCall 0x98
#define Writers 0xd0
#define Pendings 0xd4
#define WriterAt 0xd8
#define PendingAt 0x2d8
#define WriterSize 64
#define WriterSP 0
#define WriterPC 8
#define WriterFunc 56
#define PendingSize 128
#define MaxOpen 8
#define Clock 0x6d8
#define Readings 0x6e0
#define OpenCall 0x6e8
#define OpenFree 0x6f0
#define Next 0x6f8
#define NextEnd 0x700
#define Turn 0x708
#define Left 0x710
#define OpenWriter 0x718
#define HookEnd 0x720
#define ClockEvery 8
#define BlockSize 0x1000
#define HookStack 0x4000

/* Open complex store or system call. */
#define PendingSP 0
#define PendingAddr 8
#define PendingBytes 16
#define PendingBase 24
#define PendingSite 32
#define PendingCall 36
#define PendingIndex 40
#define PendingShape 44
#define PendingOld 64
#define PendingSystem 0xff

/* Registers. */
#define RegsGeneral 0
#define RegsFlags 128
#define RegsSize 144

/* Process block. */
#define Order 0x00
#define Many 0x08
#define Config 0x40
#define Shadow 0x48
#define Funcs 0x50
#define Sites 0x58
#define Stores 0x68
#define Syscalls 0x70
#define Break 0x78
#define StackBytes 0x80
#define Tracer 0x84
#define MaxData 0x88
#define Lengths 0x90
#define Verdicts 0x98
#define VerdictMask 0xa0
#define OpenByte 0xa8
#define ClosedByte 0xa9
#define TracerDied 0x40000000
#define OrphanSeconds 5
#define SyscallCount 512
#define ConfigFilter 1
#define NamedCount 0xac
#define NamedLo 0xb0
#define NamedSpan 0xb8
#define Named 0xc0
#define ConfigSettled 2
#define ConfigForget 4
#define VerdictAddr 0
#define VerdictOffset 8
#define VerdictBP 12
#define VerdictBase 14
#define VerdictSays 15
#define VerdictSize 16
#define VerdictHash 0x9e3779b97f4a7c15
#define VerdictShift 32
#define VerdictProbes 8
#define BaseNone 0
#define BaseSP 1
#define BaseBP 2
#define BaseUnknown 3
#define SaysOpen 1
#define SaysClosed 2
#define SaysLeansOpen 4
#define SaysLeansClosed 8
#define SaysEnds 16
#define WalkFrames 16
#define GranuleShift 4
#define Granule 16

/* Hook site. */
#define SitePC 0
#define SiteFlags 8
#define SiteIndex 12
#define SiteStore 16
#define SiteAlloc 20
#define SiteWriter 24
#define SiteSize 32
#define SiteStop 1
#define SiteStack 2
#define SiteAllocEnter 4
#define SiteAllocLeave 8
#define SiteWriterEnter 16
#define SiteWriterLeave 32
#define SiteTail 64
#define SiteReturn 128
#define SiteSyscall 256
#define SiteHold 512

/* Function. */
#define FuncSkipLo 0
#define FuncSkipHi 8
#define FuncFixed 16
#define FuncRole 24
#define FuncExtent 25
#define FuncFlags 26
#define FuncPtr 27
#define FuncDst 28
#define FuncLen 29
#define FuncCount 30
#define FuncBytes 31
#define FuncSize 32
#define RoleBlock 0
#define RolePosix 1
#define RoleStrdup 2
#define RoleRealloc 3
#define RoleFree 4
#define RoleWriter 5
#define FuncHides 1
#define FuncTraced 2
#define FuncDeclared 4
#define FuncWhole 8
#define FuncAcquires 16

/* Store. */
#define StoreDescDisp 0
#define StoreDescIndex 8
#define StoreDescWidth 12
#define StoreDescLen 14
#define StoreDescFlags 15
#define StoreDescBase 16
#define StoreDescIndexR 17
#define StoreDescScale 18
#define StoreDescValue 19
#define StoreDescShape 20
#define StoreDescSize 24
#define NoReg 0xff
#define StoreDescRIP 1
#define StoreDescAddr32 2
#define StoreDescRep 4
#define StoreDescAtomic 8

/* Records. */
#define Special 0x80000000
#define KindStop 1
#define KindWrite 2
#define KindNote 3
#define KindAlloc 4
#define SpecialStamp 8
#define SpecialTime 16

#define StopSite 24
#define StopFlags 28
#define StopPC 32
#define StopSP 40
#define StopResult 48
#define StopBlock 56
#define StopRegs 64
#define StopSize 168
#define StopNested 1
#define StopWhole 2

#define AllocFunc 24
#define AllocRet 32
#define AllocSP 40
#define AllocPtr 48
#define AllocBytes 56
#define AllocResult 64
#define AllocSize 72
#define AllocRegs 72
#define AllocStack 120

#define WriteOp 24
#define WriteFlags 28
#define WriteIndex 32
#define WriteBytes 36
#define WritePC 40
#define WriteSP 48
#define WriteAddr 56
#define WriteLen 64
#define WriteBase 72
#define WriteOff 80
#define WriteSize 88
#define WriteStore 1
#define WriteBulk 2
#define WriteSyscall 3
#define WriteLate 1
#define WriteMore 2
#define WriteUnread 4
#define WriteMasked 8
#define WritePartial 16

#define NoteOp 24
#define NoteIndex 28
#define NotePC 32
#define NoteSP 40
#define NoteAddr 48
#define NoteLen 56
#define NoteBase 64
#define NoteSize 72
#define NoteMap 1
#define NoteUnmap 2
#define NoteBreak 3
#define NoteReturn 4
#define NoteLost 5
#define NoteQuiet 6
#define NoteOrder 7

/* x86.Shape. */
#define ShapeFixed 0
#define ShapeString 1
#define ShapeMasked 2
#define ShapeCond 3
#define ShapeBit 4

/* probe.Extent. */
#define ExtentArg 0
#define ExtentProduct 1
#define ExtentString 2
#define ExtentAppend 3
#define ExtentResult 4
#define ExtentResultProduct 5
#define ExtentMinArg 6
#define ExtentReturned 7
#define ExtentBounded 8
#define ExtentFixed 9
#define ExtentCall 10

/* capture/syscalls.Rule. */
#define CallNone 0
#define CallResult 1
#define CallFixed 2
#define CallIOVec 3
#define CallMessage 4
#define CallArray 5
#define CallMmap 6
#define CallMunmap 7
#define CallMremap 8
#define CallBrk 9

#endif
