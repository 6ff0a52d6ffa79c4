// Control that goes where no call or jump says: exceptions, longjmp, handlers.
#include <cstdio>
#include <stdexcept>
#include <vector>
#include <string>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include <sys/mman.h>
static jmp_buf jb; static sigjmp_buf sjb;
static void f(int n){ if(n==0) throw std::runtime_error("deep"); std::vector<std::string> v(n,"abc"); f(n-1); }
static volatile int hits;
static void h(int s, siginfo_t*si, void*u){ hits++; if(s==SIGSEGV) siglongjmp(sjb,1); if (s==SIGFPE) siglongjmp(sjb,2);}
int main(){
  for(int i=0;i<50;i++) try { f(10); } catch(std::exception&e){ if(i==49) puts(e.what()); }
  int r=setjmp(jb); if(r<5) longjmp(jb,r+1); printf("r %d\n", r);
  struct sigaction sa={}; sa.sa_sigaction=h; sa.sa_flags=SA_SIGINFO; sigaction(SIGSEGV,&sa,0); sigaction(SIGFPE,&sa,0); sigaction(SIGALRM,&sa,0); sigaction(SIGUSR1,&sa,0);
  for(int i=0;i<20;i++){ if(!sigsetjmp(sjb,1)){ *(volatile int*)8=1; } }
  for(int i=0;i<20;i++){ if(!sigsetjmp(sjb,1)){ volatile int z=0, one=1; printf("%d\n", one/z); } }
  printf("hits %d\n", hits);
  raise(SIGUSR1); printf("hits %d\n", hits);
  ualarm(500,500); volatile double x=0; unsigned long sum=0; for(int i=0;i<1000000;i++){ x+=i*0.5; sum=sum*31+i; } ualarm(0,0);
  printf("%f %lu alarms %s\n", x, sum, hits>41?"yes":"no");
  if(!sigsetjmp(sjb,1)){ ((void(*)())0x1234)(); } printf("wild ok\n");
  return 7;
}
