package allocfree

import (
	"bytes"
	"encoding/json"
	"fmt"

	"mgtrace/mgpp/infer"
	"mgtrace/session/recording"
	"mgtrace/trace"
)

// clustersName is the attachment that says which memory was of one node for a time:
// []infer.Stretch as JSON.
const clustersName = "clusters.json"

// attachClusters writes the stretches of a graph, if it has any.
func attachClusters(w *trace.Writer, g *infer.Graph) error {
	all := g.Stretches()
	if len(all) == 0 {
		return nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return w.Attach(clustersName, bytes.NewReader(b))
}

// Stretches are what attachClusters wrote, of a trace whose blocks were found; others have
// none.
func Stretches(rec *recording.Recording) ([]infer.Stretch, error) {
	if rec.Prog.Inferred == nil {
		return nil, nil
	}
	r, ok := rec.Reader.Attachment(clustersName)
	if !ok {
		return nil, nil
	}
	var all []infer.Stretch
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return nil, fmt.Errorf("%s of the trace: %w", clustersName, err)
	}
	return all, nil
}
