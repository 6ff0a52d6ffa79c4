package objfile
type File struct{}
