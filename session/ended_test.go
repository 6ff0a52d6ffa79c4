package session

import (
	"testing"
	"time"

	"mgtrace/session/live"
)

// A program that never ends, broken early, and then with a state that takes longer to judge than there is time.
const endless = `
#include <stdlib.h>
#include <unistd.h>
struct node { int key; struct node *next; };
static struct node *head;
void add(int key) {
	struct node *n = malloc(sizeof *n);
	n->key = key;
	n->next = head;
	head = n;
	if (key == 20)
		n->key = 1;
}
static void more(int key) { add(key); }
int main(void) {
	for (int i = 0; i < 6000; i++)
		more(i);
	for (;;)
		pause();
}
`

// TestEndedWhileLocating: when the time that is left for the last state and for locating is over, what was found is told.
func TestEndedWhileLocating(t *testing.T) {
	capable(t)
	quiet(t)
	bin := compile(t, endless)
	spec := write(t, t.TempDir(), "list.cons", "type node;\nonce: node X, Y; X.key != Y.key or X == Y;\ncpoint add:exit;\n")
	o := RunOptions{Program: bin, Analysis: AnalysisOptions{Spec: spec, All: true}, Capture: live.CaptureOptions{Engine: "auto", Timeout: 3 * time.Second}}
	l, err := live.Launch(t.Context(), o.live())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, _, err := checked(t.Context(), l, o.Analysis, limits{patience: 10 * time.Millisecond, locating: 10 * time.Millisecond, timeout: o.Capture.Timeout}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d C-points, why %v", len(r.CPoints), r.Why)
}
