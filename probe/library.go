package probe

import (
	"strings"
	"sync"
)

// An entry describes a function of the C or C++ library. Arguments count from 1.
type entry struct {
	names  string // linker names, separated by blanks
	fn     Func   // Role and arguments
	unsafe bool   // may throw, be cancelled or recurse: no uretprobe
}

// allocators are the standard ones. posix_memalign and its kin keep the order
// of arguments of their manual pages.
var allocators = []entry{
	{names: "malloc valloc pvalloc", fn: Func{Role: RoleMalloc, Size: 1}},
	{names: "calloc", fn: Func{Role: RoleCalloc, Count: 1, Size: 2}},
	{names: "realloc", fn: Func{Role: RoleRealloc, Ptr: 1, Size: 2}},
	{names: "reallocf", fn: Func{Role: RoleRealloc, Ptr: 1, Size: 2}},
	{names: "reallocarray", fn: Func{Role: RoleReallocArray, Ptr: 1, Count: 2, Size: 3}},
	{names: "aligned_alloc memalign", fn: Func{Role: RoleAligned, Size: 2}},
	{names: "posix_memalign", fn: Func{Role: RolePosix, Ptr: 1, Size: 3}},
	{names: "free cfree free_sized free_aligned_sized", fn: Func{Role: RoleFree, Ptr: 1}},
	{names: "strdup strndup __strdup __strndup wcsdup", fn: Func{Role: RoleStrdup}},

	// jemalloc's own interface: mallocx(size, flags), rallocx(ptr, size, flags).
	{names: "mallocx", fn: Func{Role: RoleMalloc, Size: 1}},
	{names: "rallocx", fn: Func{Role: RoleRealloc, Ptr: 1, Size: 2}},
	{names: "dallocx sdallocx", fn: Func{Role: RoleFree, Ptr: 1}},

	// operator new and new[]: plain, nothrow, aligned, both (Itanium C++ ABI, 5.1.5).
	{names: "_Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t", fn: Func{Role: RoleMalloc, Size: 1}, unsafe: true},
	{names: "_ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t",
		fn: Func{Role: RoleMalloc, Size: 1}, unsafe: true},
	// operator delete and delete[]: plain, sized, nothrow, aligned.
	{names: "_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t " +
		"_ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t " +
		"_ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t",
		fn: Func{Role: RoleFree, Ptr: 1}, unsafe: true},
}

// allocatorPrefixes are put before the names of allocators by those who wrap
// or replace them: the sanitizers, jemalloc, tcmalloc, mimalloc, glibc itself.
var allocatorPrefixes = []string{"", "__interceptor_", "___interceptor_", "je_", "tc_", "mi_", "__libc_"}

// writers are the functions that write memory for their caller, by their
// extent (manual pages, sections 2 and 3). strtok goes on in strtok_r.
var writers = []entry{
	{names: "memcpy memmove mempcpy __mempcpy memset memfrob", fn: Func{Dst: 1, Len: 3, Extent: ExtentArg}},
	{names: "__memcpy_chk __memmove_chk __mempcpy_chk __memset_chk", fn: Func{Dst: 1, Len: 3, Extent: ExtentArg}},
	{names: "bzero __bzero explicit_bzero __explicit_bzero_chk", fn: Func{Dst: 1, Len: 2, Extent: ExtentArg}},
	{names: "bcopy swab", fn: Func{Dst: 2, Len: 3, Extent: ExtentArg}},
	{names: "strcpy __strcpy_chk", fn: Func{Dst: 1, Extent: ExtentString}},
	{names: "strncpy stpncpy __stpncpy __strncpy_chk __stpncpy_chk", fn: Func{Dst: 1, Len: 3, Extent: ExtentMinArg}},
	{names: "strcat strncat strlcat __strcat_chk __strncat_chk __strlcat_chk", fn: Func{Dst: 1, Extent: ExtentAppend}},
	{names: "stpcpy __stpcpy __stpcpy_chk", fn: Func{Dst: 1, Extent: ExtentReturned}},
	{names: "strlcpy strxfrm __strlcpy_chk", fn: Func{Dst: 1, Len: 3, Extent: ExtentBounded}},
	{names: "strftime", fn: Func{Dst: 1, Len: 2, Extent: ExtentBounded}},
	{names: "inet_ntop", fn: Func{Dst: 3, Extent: ExtentString}},
	{names: "ctime_r asctime_r __xpg_strerror_r ttyname_r", fn: Func{Dst: 2, Extent: ExtentString}},
	{names: "realpath", fn: Func{Dst: 2, Extent: ExtentString}},
	{names: "regcomp", fn: Func{Dst: 1, Fixed: 64, Extent: ExtentFixed}},                   // regex_t
	{names: "re_compile_pattern", fn: Func{Dst: 3, Fixed: 64, Extent: ExtentFixed}},        // the same by its GNU name
	{names: "glob glob64", fn: Func{Dst: 4, Fixed: 72, Extent: ExtentFixed}, unsafe: true}, // glob_t
	// struct obstack, by the functions behind the macros.
	{names: "_obstack_begin _obstack_begin_1 _obstack_newchunk obstack_free _obstack_free",
		fn: Func{Dst: 1, Fixed: 88, Extent: ExtentFixed}, unsafe: true},
	{names: "strsep __strsep_g", fn: Func{Dst: 1, Extent: ExtentSplit}},
	{names: "strtok_r __strtok_r", fn: Func{Dst: 3, Extent: ExtentSplit}},
	{names: "strtol strtoul strtoll strtoull strtoq strtouq strtoimax strtoumax strtod strtof strtold " +
		"__isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull __isoc23_strtoimax __isoc23_strtoumax",
		fn: Func{Dst: 2, Fixed: 8, Extent: ExtentFixed}},
	{names: "gethostname", fn: Func{Dst: 1, Extent: ExtentString}},
	{names: "inet_aton", fn: Func{Dst: 2, Fixed: 4, Extent: ExtentFixed}},
	{names: "mktime timegm timelocal", fn: Func{Dst: 1, Fixed: 56, Extent: ExtentFixed}}, // struct tm
	{names: "strptime", fn: Func{Dst: 3, Fixed: 56, Extent: ExtentFixed}},                // the same
	{names: "wcstombs __wcstombs_chk", fn: Func{Dst: 1, Len: 3, Extent: ExtentBounded}},
	{names: "tcgetattr", fn: Func{Dst: 2, Fixed: 60, Extent: ExtentFixed}}, // struct termios
	// A floating-point argument takes no register of those that are counted.
	{names: "frexp frexpf frexpl remquo remquof remquol lgamma_r lgammaf_r lgammal_r", fn: Func{Dst: 1, Fixed: 4, Extent: ExtentFixed}},
	{names: "modf", fn: Func{Dst: 1, Fixed: 8, Extent: ExtentFixed}},
	{names: "modff", fn: Func{Dst: 1, Fixed: 4, Extent: ExtentFixed}},
	{names: "gcvt", fn: Func{Dst: 2, Extent: ExtentString}},
	{names: "rand_r", fn: Func{Dst: 1, Fixed: 4, Extent: ExtentFixed}},
	{names: "erand48 nrand48 jrand48", fn: Func{Dst: 1, Fixed: 6, Extent: ExtentFixed}},
	{names: "srand48_r seed48_r lcong48_r", fn: Func{Dst: 2, Fixed: 24, Extent: ExtentFixed}}, // struct drand48_data
	{names: "getaddrinfo", fn: Func{Dst: 4, Fixed: 8, Extent: ExtentFixed}, unsafe: true},
	{names: "scandir scandir64", fn: Func{Dst: 2, Fixed: 8, Extent: ExtentFixed}, unsafe: true},
	{names: "getifaddrs", fn: Func{Dst: 1, Fixed: 8, Extent: ExtentFixed}},
	{names: "mbrtowc mbtowc", fn: Func{Dst: 1, Fixed: 4, Extent: ExtentFixed}},
	{names: "wcrtomb wctomb", fn: Func{Dst: 1, Extent: ExtentResult}},
	{names: "mkstemp mkstemp64 mkostemp mkostemp64 mkdtemp mktemp getlogin_r", fn: Func{Dst: 1, Extent: ExtentString}},
	{names: "fgetpos fgetpos64", fn: Func{Dst: 2, Fixed: 16, Extent: ExtentFixed}},

	{names: "sprintf vsprintf __sprintf_chk __vsprintf_chk", fn: Func{Dst: 1, Extent: ExtentString}, unsafe: true},
	{names: "snprintf vsnprintf __snprintf_chk __vsnprintf_chk", fn: Func{Dst: 1, Len: 2, Extent: ExtentBounded}, unsafe: true},
	{names: "gets fgets fgets_unlocked __gets_chk __fgets_chk __fgets_unlocked_chk", fn: Func{Dst: 1, Extent: ExtentString}, unsafe: true},
	{names: "fread fread_unlocked", fn: Func{Dst: 1, Len: 2, Extent: ExtentResultProduct}, unsafe: true},
	{names: "__fread_chk __fread_unlocked_chk", fn: Func{Dst: 1, Len: 3, Extent: ExtentResultProduct}, unsafe: true},
	{names: "getline __getline", fn: Func{Dst: 1, Len: 2, Extent: ExtentLine}, unsafe: true},
	{names: "getdelim __getdelim", fn: Func{Dst: 1, Len: 2, Extent: ExtentLine}, unsafe: true},
	// As getline, but without a size beside the buffer's address.
	{names: "asprintf vasprintf __asprintf __asprintf_chk __vasprintf_chk", fn: Func{Dst: 1, Len: 1, Extent: ExtentLine}, unsafe: true},
	{names: "scanf __isoc99_scanf __isoc23_scanf", fn: Func{Dst: 1, Extent: ExtentFormat}, unsafe: true},
	{names: "fscanf __isoc99_fscanf __isoc23_fscanf sscanf __isoc99_sscanf __isoc23_sscanf",
		fn: Func{Dst: 2, Extent: ExtentFormat}, unsafe: true},
	{names: "vscanf __isoc99_vscanf __isoc23_vscanf", fn: Func{Dst: 1, Len: 2, Extent: ExtentFormat}, unsafe: true},
	{names: "vfscanf __isoc99_vfscanf __isoc23_vfscanf vsscanf __isoc99_vsscanf __isoc23_vsscanf __vsscanf __vfscanf",
		fn: Func{Dst: 2, Len: 3, Extent: ExtentFormat}, unsafe: true},
	{names: "qsort qsort_r", fn: Func{Dst: 1, Len: 2, Count: 3, Extent: ExtentProduct}, unsafe: true},

	// Those that write by a system call, which is an event of its own. Dst is where, or
	// what says where (package capture/syscalls).
	{names: "read __read_chk pread pread64 __pread_chk __pread64_chk readv preadv preadv64 preadv2 preadv64v2 process_vm_readv " +
		"recv __recv_chk recvfrom __recvfrom_chk recvmsg recvmmsg", fn: Func{Dst: 2, Extent: ExtentCall}, unsafe: true},
	{names: "poll __poll_chk ppoll __ppoll_chk getrandom getentropy", fn: Func{Dst: 1, Extent: ExtentCall}, unsafe: true},
	{names: "epoll_wait epoll_pwait epoll_pwait2", fn: Func{Dst: 2, Extent: ExtentCall}, unsafe: true},
	{names: "pipe pipe2 getcwd __getcwd_chk uname sysinfo times sigpending", fn: Func{Dst: 1, Extent: ExtentCall}},
	{names: "stat stat64 lstat lstat64 fstat fstat64 statfs statfs64 fstatfs fstatfs64 readlink __readlink_chk getdents64 " +
		"getrusage getrlimit getrlimit64 getgroups getitimer clock_getres listxattr llistxattr flistxattr", fn: Func{Dst: 2, Extent: ExtentCall}},
	{names: "fstatat fstatat64 readlinkat __readlinkat_chk getxattr lgetxattr fgetxattr sched_getaffinity", fn: Func{Dst: 3, Extent: ExtentCall}},
	{names: "socketpair prlimit prlimit64", fn: Func{Dst: 4, Extent: ExtentCall}},
	{names: "statx", fn: Func{Dst: 5, Extent: ExtentCall}},

	// Objects of the library inside the program's own (sizes of glibc on x86-64,
	// bits/pthreadtypes-arch.h). Those that wait are left out: they can be cancelled.
	{names: "pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock",
		fn: Func{Dst: 1, Fixed: 40, Extent: ExtentFixed}},
	{names: "pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_wrlock " +
		"pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock", fn: Func{Dst: 1, Fixed: 56, Extent: ExtentFixed}},
	{names: "pthread_cond_init pthread_cond_destroy pthread_cond_signal pthread_cond_broadcast", fn: Func{Dst: 1, Fixed: 48, Extent: ExtentFixed}},
	{names: "sem_init sem_post sem_trywait", fn: Func{Dst: 1, Fixed: 32, Extent: ExtentFixed}},
	{names: "pthread_attr_init", fn: Func{Dst: 1, Fixed: 56, Extent: ExtentFixed}},
	{names: "pthread_barrier_init", fn: Func{Dst: 1, Fixed: 32, Extent: ExtentFixed}},
	{names: "pthread_key_create pthread_spin_init pthread_mutexattr_init pthread_condattr_init", fn: Func{Dst: 1, Fixed: 4, Extent: ExtentFixed}},
	{names: "sem_getvalue", fn: Func{Dst: 2, Fixed: 4, Extent: ExtentFixed}},
	{names: "clock_gettime localtime_r gmtime_r", fn: Func{Dst: 2, Extent: ExtentFixed}}, // Fixed: see fixedSizes
	{names: "gettimeofday time sigemptyset sigfillset sigaddset sigdelset", fn: Func{Dst: 1, Extent: ExtentFixed}},

	// What istream >> x stores in x: basic_istream<char>::operator>>, and _M_extract, which GCC's header has in its place; the rest is from_chars.
	{names: "_ZNSirsERb _ZNSi10_M_extractIbEERSiRT_ _ZNSi3getERc _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_ " +
		"_ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Ra _ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Rh",
		fn: Func{Dst: 2, Fixed: 1, Extent: ExtentFixed}, unsafe: true},
	{names: "_ZNSirsERs _ZNSirsERt _ZNSi10_M_extractItEERSiRT_", fn: Func{Dst: 2, Fixed: 2, Extent: ExtentFixed}, unsafe: true},
	{names: "_ZNSirsERi _ZNSirsERj _ZNSirsERf _ZNSi10_M_extractIjEERSiRT_ _ZNSi10_M_extractIfEERSiRT_",
		fn: Func{Dst: 2, Fixed: 4, Extent: ExtentFixed}, unsafe: true},
	{names: "_ZNSirsERl _ZNSirsERm _ZNSirsERx _ZNSirsERy _ZNSirsERd _ZNSirsERPv _ZNSi10_M_extractIlEERSiRT_ _ZNSi10_M_extractImEERSiRT_ " +
		"_ZNSi10_M_extractIxEERSiRT_ _ZNSi10_M_extractIyEERSiRT_ _ZNSi10_M_extractIdEERSiRT_ _ZNSi10_M_extractIPvEERSiRT_",
		fn: Func{Dst: 2, Fixed: 8, Extent: ExtentFixed}, unsafe: true},
	{names: "_ZNSirsERe _ZNSi10_M_extractIeEERSiRT_", fn: Func{Dst: 2, Fixed: 10, Extent: ExtentFixed}, unsafe: true}, // of a long double's 16 bytes
	{names: "_ZNSi7getlineEPcl _ZNSi7getlineEPclc _ZNSi3getEPcl _ZNSi3getEPclc", fn: Func{Dst: 2, Extent: ExtentString}, unsafe: true},
	{names: "_ZSt10from_charsPKcS0_RdSt12chars_format", fn: Func{Dst: 3, Fixed: 8, Extent: ExtentFixed}, unsafe: true},
	{names: "_ZSt10from_charsPKcS0_RfSt12chars_format", fn: Func{Dst: 3, Fixed: 4, Extent: ExtentFixed}, unsafe: true},
}

// Scattered are functions of the C library that write several things for their caller, in its nodes or in
// nodes that they make of its own: no entry says that. The library's stores have to be recorded.
var Scattered = strings.Fields("insque remque tsearch tdelete lsearch hsearch_r open_memstream")

// Untold are functions of the C and C++ library that write for their caller what no entry says.
var Untold = strings.Fields("inet_pton iconv setjmp _setjmp sigsetjmp __sigsetjmp pthread_create thrd_create " +
	"wcscpy wcsncpy wcscat wcsncat wmemcpy wmemmove wmemset swprintf vswprintf mbstowcs mbsrtowcs fgetws sincos sincosf sincosl " +
	"_ZSt17__istream_extractRSiPcl _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE")

// waiters are the functions that wait for what another thread does, beside the
// writers above. The order of the kernel's probes is that of the run; only an
// engine that must find the order itself needs to know when they return. Those
// that the library defines by one another may have one address.
var waiters = []entry{
	{names: "pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np thrd_join"},
	{names: "pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait cnd_timedwait"},
	{names: "pthread_mutex_timedlock pthread_mutex_clocklock mtx_lock mtx_trylock mtx_timedlock"},
	{names: "pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock"},
	{names: "pthread_spin_lock pthread_spin_trylock pthread_barrier_wait"},
	{names: "sem_wait sem_timedwait sem_clockwait pthread_once __pthread_once call_once"},
}

// fixedSizes are the results of functions that differ in nothing else:
// timespec, timeval, time_t, tm, sigset_t.
var fixedSizes = map[string]uint64{
	"clock_gettime": 16, "gettimeofday": 16, "time": 8,
	"localtime_r": 56, "gmtime_r": 56, "sigemptyset": 128, "sigfillset": 128, "sigaddset": 128, "sigdelset": 128,
}

// acquirers are the writers that take a lock.
var acquirers = map[string]bool{
	"pthread_mutex_lock": true, "pthread_mutex_trylock": true, "sem_trywait": true,
	"pthread_rwlock_rdlock": true, "pthread_rwlock_wrlock": true, "pthread_rwlock_tryrdlock": true, "pthread_rwlock_trywrlock": true,
}

// writerPrefixes: the sanitizers intercept writers, and the compiler calls
// __asan_memcpy and the like itself.
var writerPrefixes = []string{"", "__interceptor_", "___interceptor_", "__asan_", "__msan_", "__tsan_", "__hwasan_"}

// catalogue finds the entry of a linker name.
type catalogue map[string]entry

func newCatalogue() catalogue {
	c := catalogue{}
	for _, e := range allocators {
		c.add(e, allocatorPrefixes)
	}
	for _, e := range writers {
		e.fn.Role = RoleWriter
		c.add(e, writerPrefixes)
	}
	return c
}

// addWaiters adds the functions of RoleWait.
func (c catalogue) addWaiters() {
	for _, e := range waiters {
		e.fn.Role = RoleWait
		c.add(e, []string{""})
	}
}

func (c catalogue) add(e entry, prefixes []string) {
	for _, name := range strings.Fields(e.names) {
		e := e
		if size := fixedSizes[name]; size != 0 {
			e.fn.Fixed = size
		}
		e.fn.Acquires = acquirers[name]
		for _, prefix := range prefixes {
			if prefix != "" && strings.HasPrefix(name, "_Z") {
				continue
			}
			c[prefix+name] = e
		}
	}
}

// plainName is a standard name without what a sanitizer puts before it, or a header of the
// C library that declares scanf as a standard has it: what the user wrote.
func plainName(linkage string) string {
	for _, p := range []string{"___interceptor_", "__interceptor_", "__asan_", "__msan_", "__tsan_", "__hwasan_", "__libc_",
		"__isoc99_", "__isoc23_"} {
		if rest, ok := strings.CutPrefix(linkage, p); ok {
			return rest
		}
	}
	return linkage
}

// IsAllocator reports whether a function of this linker name is a standard one that
// gives out or frees blocks.
func IsAllocator(linkage string) bool { return allocatorNames()[linkage] }

// IsStandard reports whether a function of this linker name is one of which it is known what it does to memory.
func IsStandard(linkage string) bool {
	_, ok := standard()[linkage]
	return ok
}

// standard are the standard functions.
var standard = sync.OnceValue(newCatalogue)

// allocatorNames are the linker names of the standard allocators.
var allocatorNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name, e := range standard() {
		if e.fn.Role >= RoleMalloc && e.fn.Role <= RoleFree {
			names[name] = true
		}
	}
	return names
})
