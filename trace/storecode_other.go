//go:build !amd64

package trace

const leadingZeros = false

// addFast takes no stores.
func (c *storeEncoder) addFast([]StoreRec, []byte) int { return 0 }
