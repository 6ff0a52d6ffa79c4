package live

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/trace"
)

// A thread that sleeps has the time for itself, however busy the machine; one that is stopped has not.
func TestOwnTime(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		pid := cmd.Process.Pid
		if stopped {
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			var ws unix.WaitStatus
			if _, err := unix.Wait4(pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
				t.Fatalf("%v, %v", ws, err)
			}
		}
		began := time.Now()
		o := &ownTime{pid: pid}
		end := o.watch()
		time.Sleep(4 * trace.OwnTime)
		end()
		since, had := o.since(began).Since[trace.ThreadID(pid)]
		if had == stopped || had && (since < 0 || time.Duration(since) > time.Since(began)-trace.OwnTime) {
			t.Errorf("stopped %v: time of its own since %v, %v", stopped, time.Duration(since), had)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
