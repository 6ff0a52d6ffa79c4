module cachedir.mgtrace

go 1.26
