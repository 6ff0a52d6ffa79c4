package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the units of parseSize, by their first letter: decimal, and binary
// ones with an i.
const sizeUnits = "kmgtp"

// parseSize parses a number of bytes as people write it: "2GB", "1.5 GiB", "512M",
// "1000000". K, M, G, T, P are powers of 1000 with or without a B, and powers of
// 1024 as KiB, Ki and so on; capitals do not matter.
func parseSize(text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	n := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if n < 0 {
		n = len(s)
	}
	v, err := strconv.ParseFloat(s[:n], 64)
	unit := strings.TrimSuffix(strings.TrimSpace(s[n:]), "b")
	base := 1000.0
	if strings.HasSuffix(unit, "i") {
		unit, base = unit[:len(unit)-1], 1024
		if unit == "" {
			err = errors.New("no unit")
		}
	}
	power := 0
	if unit != "" {
		power = 1 + strings.Index(sizeUnits, unit)
	}
	if err != nil || len(unit) > 1 || unit != "" && power == 0 {
		return 0, fmt.Errorf("%q is no size: write 2GB, 500MB or 1.5GiB", text)
	}
	v *= math.Pow(base, float64(power))
	if v < 1 || v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size that a file can have", text)
	}
	return int64(v), nil
}
