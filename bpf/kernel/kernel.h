/* The few kernel structures that the programs look into, with only the fields
 * that they use. preserve_access_index makes every access a CO-RE relocation:
 * the loader replaces the offsets by those of the running kernel. */
#ifndef MGTRACE_KERNEL_H
#define MGTRACE_KERNEL_H

#include <linux/bpf.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long start_stack;
	unsigned long env_end;
	unsigned long brk;
};

struct thread_struct {
	unsigned long fsbase;
	unsigned long gsbase;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
};

struct super_block {
	unsigned int s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	struct mm_struct *mm;
	struct files_struct *files;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct thread_struct thread;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

/* The register frame of x86-64 (arch/x86/include/asm/ptrace.h). Its layout is
 * that of the user-visible PTRACE_GETREGS and does not change. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#endif
