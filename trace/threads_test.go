package trace

import "testing"

// What is known of a thread is found again, whoever was asked for between, and no more when it has gone.
func TestThreads(t *testing.T) {
	var x Threads[int]
	if x.Find(0) != nil || x.Len() != 0 {
		t.Fatal("the zero value knows a thread")
	}
	for _, id := range []ThreadID{7, 7, 0, 7, 0} {
		*x.Of(id)++
	}
	if x.Len() != 2 || *x.Find(7) != 3 || *x.Find(0) != 2 || x.Find(1) != nil {
		t.Errorf("%d threads, 7: %v, 0: %v, 1: %v", x.Len(), x.Find(7), x.Find(0), x.Find(1))
	}
	x.Of(7)
	x.Delete(7)
	if x.Find(7) != nil || *x.Of(7) != 0 || x.Len() != 2 {
		t.Error("what was known of a thread that went is known again")
	}
	n := 0
	for id, v := range x.All() {
		n += int(id) + *v
	}
	if n != 7+0+2 {
		t.Errorf("all of them: %d", n)
	}
}
