package sarif

// The parts of the format that are used.

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool        tool                `json:"tool"`
	Invocations []invocation        `json:"invocations"`
	Bases       map[string]artifact `json:"originalUriBaseIds,omitempty"`
	Results     []result            `json:"results"` // empty, not absent: the tool ran and found nothing (3.14.23)
	ColumnKind  string              `json:"columnKind"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []rule `json:"rules"`
}

type rule struct {
	ID    string   `json:"id"`
	Short *message `json:"shortDescription,omitempty"`
	Full  *message `json:"fullDescription,omitempty"`
}

type message struct {
	Text string `json:"text"`
}

type invocation struct {
	Successful    bool           `json:"executionSuccessful"`
	ExitCode      int            `json:"exitCode"`
	Description   string         `json:"exitCodeDescription"`
	Notifications []notification `json:"toolExecutionNotifications,omitempty"`
}

type notification struct {
	Level   string  `json:"level"`
	Message message `json:"message"`
}

type result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Rank         float64           `json:"rank"` // 0 to 100 (3.27.25)
	Message      message           `json:"message"`
	Locations    []location        `json:"locations,omitempty"`
	Related      []location        `json:"relatedLocations,omitempty"`
	Flows        []codeFlow        `json:"codeFlows,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   properties        `json:"properties"`
}

// properties are what the format has no place for.
type properties struct {
	Kind     string   `json:"mgtrace/kind,omitempty"` // wrote, omitted
	Change   string   `json:"mgtrace/change,omitempty"`
	Evidence []string `json:"mgtrace/evidence,omitempty"`
	Broken   []string `json:"mgtrace/broken"` // all constraints that are broken at the C-point
}

type location struct {
	ID       int       `json:"id,omitempty"`
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
	Message  *message  `json:"message,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
	Context  *region  `json:"contextRegion,omitempty"`
}

type artifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type region struct {
	StartLine   int      `json:"startLine"`
	StartColumn int      `json:"startColumn,omitempty"`
	EndLine     int      `json:"endLine,omitempty"`
	Snippet     *message `json:"snippet,omitempty"`
}

type logical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type codeFlow struct {
	Message message      `json:"message"`
	Threads []threadFlow `json:"threadFlows"`
}

type threadFlow struct {
	ID        string         `json:"id"`
	Locations []flowLocation `json:"locations"`
}

type flowLocation struct {
	Order      int      `json:"executionOrder"`
	Importance string   `json:"importance"`
	Location   location `json:"location"`
}
