package slice

import "testing"

// The way to what two ops of a step use is by the nearer of them, however much nearer than
// both a third one is.
func TestNearestWay(t *testing.T) {
	use := stepUse{0, ByRegister}
	s := &shape{ops: []shapeOp{{}, {local: 1}, {local: 2}, {local: 2}}, locals: []stepUse{use, use}}
	p := &routes{shape: s, mask: 0b1110, wanted: []uint8{1, 2, 3}, all: 0b1111}
	for _, far := range []uint32{2, 100, 1 << 14, 1 << 16, 1 << 30} {
		for _, nearer := range []uint16{1, 2} {
			w := &backwardWays{plans: &planner{out: &Slice{}, plans: []*plan{{routes: p}}}, limit: 1 << 20}
			w.begin(0)
			need := &[maxStepOps]reached{}
			need[1], need[2] = reachedBy(node(8, 0), ByMemory, far+9), reachedBy(node(9, 0), ByMemory, far+9)
			need[nearer] -= 5 << 32
			need[3] = reachedBy(node(7, 0), ByMemory, 1)
			w.add(4, p, need, 1, nil)
			step := StepID(5) // the first of the segment is 1
			if via, kind, ok := w.find(node(step, 0)); !ok || via != node(step, nearer) || kind != ByRegister {
				t.Errorf("%d farther: op 0 is reached by %d, want %d", far, via, node(step, nearer))
			}
			if via, kind, ok := w.find(node(step, 1)); !ok || via != node(9, 0) || kind != ByMemory {
				t.Errorf("%d farther: op 1 is reached by %d, want %d", far, via, node(9, 0))
			}
		}
	}
}
