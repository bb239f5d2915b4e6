package main

// Run is what a controller did with one curve: written by ../daemon_run.ts and here, read by ../score.ts.
type Run struct {
	Controller string         `json:"controller"`
	Curve      string         `json:"curve"`
	Sizes      [][5]float64   `json:"sizes"`     // second, cpu request, cpu limit (millicores), memory request, memory limit (bytes): in force from then on
	Starts     []float64      `json:"starts"`    // seconds at which an instance of the container began
	Kills      []float64      `json:"kills"`     // seconds at which it was killed for memory
	Decisions  []Said         `json:"decisions"` // what was said at each turn, when it changed
	Counts     map[string]int `json:"counts"`
}

type Said struct {
	At     float64 `json:"at"`
	Reason string  `json:"reason"`
}

// Template is the size that every controller finds: the usual round numbers, limits twice the requests.
var Template = [4]float64{500, 1000, 256 * mi, 512 * mi}
