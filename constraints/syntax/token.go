package syntax

// tokenKind classifies a token. Words of the language are identifiers here:
// which of them are special depends on where they stand.
type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokNumber
	tokString
	tokPunct   // text is the canonical ASCII spelling
	tokIllegal // text is the message
)

// token is one token. lo and hi are byte offsets in the source, half-open.
type token struct {
	kind   tokenKind
	text   string
	pos    Pos
	lo, hi int
}

func (t token) is(punct string) bool { return t.kind == tokPunct && t.text == punct }

func (t token) word(w string) bool { return t.kind == tokIdent && t.text == w }

// puncts are the fixed spellings, the longest of a common prefix first.
var puncts = []struct{ src, text string }{
	{"!->>", "!->>"}, {"!->", "!->"}, {"->>", "->>"},
	{"->", "->"}, {"=>", "=>"}, {"==", "=="}, {"!=", "!="}, {"<=", "<="}, {">=", ">="},
	{"<<", "<<"}, {">>", ">>"}, {"||", "||"}, {"::", "::"}, {"..", ".."},
	{"↠\u0338", "!->>"}, {"→\u0338", "!->"}, {"→", "->"}, {"↛", "!->"}, {"↠", "->>"},
	{"≠", "!="}, {"≤", "<="}, {"≥", ">="}, {"⇒", "=>"},
	{"&&", "&&"}, {"(", "("}, {")", ")"}, {"[", "["}, {"]", "]"}, {"{", "{"}, {"}", "}"},
	{";", ";"}, {",", ","}, {".", "."}, {":", ":"}, {"?", "?"}, {"=", "="}, {"<", "<"}, {">", ">"},
	{"+", "+"}, {"-", "-"}, {"*", "*"}, {"/", "/"}, {"%", "%"}, {"&", "&"}, {"|", "|"}, {"~", "~"},
	{"!", "!"}, {"^", "^"},
}
