package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Load is one curve in the JSON form that the embedded cluster reads from a pod's annotation
// (sim.podfit.dev/load): constant, points (ms since the pod began) or leak (since the container began).
type Load struct {
	Kind    string       `json:"kind"`
	Value   float64      `json:"value"`
	Points  [][2]float64 `json:"points,omitempty"`
	Base    float64      `json:"base,omitempty"`
	PerHour float64      `json:"perHour,omitempty"`
	Repeats bool         `json:"repeats"`
	Clock   string       `json:"clock,omitempty"`
	at      int
}

func constant(v float64) *Load { return &Load{Kind: "constant", Value: v} }

// Read at whole seconds that do not go back far; age is the container's.
func (l *Load) Read(sec, age float64) float64 {
	switch l.Kind {
	case "constant":
		return l.Value
	case "leak":
		return l.Base + l.PerHour*age/3600
	}
	ms := sec * 1000
	p := l.Points
	if l.at >= len(p)-1 || p[l.at][0] > ms {
		l.at = 0
	}
	for l.at < len(p)-2 && p[l.at+1][0] <= ms {
		l.at++
	}
	a, b := p[l.at], p[min(l.at+1, len(p)-1)]
	if ms <= a[0] || b[0] <= a[0] {
		return a[1]
	}
	if ms >= b[0] {
		return b[1]
	}
	return a[1] + (b[1]-a[1])*(ms-a[0])/(b[0]-a[0])
}

// HeldAt is the working set at a second of the curve, of an instance of that age.
func (c *Curve) HeldAt(sec, age float64) float64 {
	const process = 90_112 // as the embedded cluster has it
	return math.Max(process, c.Memory.Read(sec, age)-c.StartsBelow*math.Max(0, 1-age/60))
}

type Curve struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`   // cpu or memory: what is scored; phase: a step of which only the settling is
	IsReal  bool   `json:"isReal"` // recorded on a server
	Seconds int    `json:"seconds"`
	CPU     *Load  `json:"cpu"`
	Memory  *Load  `json:"memory"`
	Cache   *Load  `json:"cache"`
	// A new instance begins with so many bytes less than Memory, and has made up for them after a minute.
	StartsBelow float64      `json:"startsBelow"`
	Pre         []float64    `json:"pre"`   // millicores, one a minute, before the window (for warm histories)
	Steps       [][3]float64 `json:"steps"` // second, from, to (mean levels)
}

// rng: splitmix64, so that the numbers never change with a library.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
func (r *rng) float() float64 { return (float64(r.next()>>11) + 0.5) / (1 << 53) }
func (r *rng) normal() float64 {
	return math.Sqrt(-2*math.Log(r.float())) * math.Cos(2*math.Pi*r.float())
}

func seedOf(name string) *rng {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	r := rng(h)
	return &r
}

const (
	knot    = 10.0 // seconds: the annotation of the embedded cluster takes 20,160 points, 48 h of these are 17,281
	sigma   = 0.10
	memory_ = 30.0 // seconds of AR(1) correlation
	// Of a percent: so that 100 % and its noise stay below the bounds of the document's example policy (2 cores).
	milliPerPercent = 13.0
	phases          = 20
)

// noisy samples level(second) every knot seconds and multiplies it with 1 + AR(1) noise.
func noisy(name string, seconds int, level func(float64) float64, edges []float64) *Load {
	r := seedOf(name)
	phi := math.Exp(-knot / memory_)
	n := r.normal()
	var pts [][2]float64
	at := map[float64]bool{}
	var times []float64
	for t := 0.0; t <= float64(seconds); t += knot {
		times = append(times, t)
		at[t] = true
	}
	for _, e := range edges { // a jump at e: the value just before it stays as it is until 0.1 s before
		for _, x := range []float64{e - 0.1, e} {
			if x > 0 && !at[x] {
				times = append(times, x)
				at[x] = true
			}
		}
	}
	sort.Float64s(times)
	last := 0.0
	for _, t := range times {
		k := math.Exp(-(t - last) / memory_)
		if t == 0 {
			k = phi
		}
		n = k*n + math.Sqrt(1-k*k)*r.normal()
		last = t
		v := math.Max(0, level(t)*(1+sigma*n))
		pts = append(pts, [2]float64{math.Round(t * 1000), math.Round(v*10) / 10})
	}
	return &Load{Kind: "points", Points: pts}
}

func readTrace(path string) (rows [][2]float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range all[1:] {
		s, _ := strconv.ParseFloat(row[0], 64)
		v, _ := strconv.ParseFloat(row[1], 64)
		rows = append(rows, [2]float64{s, v})
	}
	return rows, nil
}

func between(rows [][2]float64, t float64) float64 {
	i := sort.Search(len(rows), func(i int) bool { return rows[i][0] > t })
	if i == 0 {
		return rows[0][1]
	}
	if i == len(rows) {
		return rows[i-1][1]
	}
	a, b := rows[i-1], rows[i]
	return a[1] + (b[1]-a[1])*(t-a[0])/(b[0]-a[0])
}

const mi = 1 << 20

func makeCurves(traces string) ([]*Curve, error) {
	var out []*Curve
	files, _ := filepath.Glob(filepath.Join(traces, "*.csv"))
	sort.Strings(files)
	for _, f := range files {
		rows, err := readTrace(f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(f), ".csv")
		level := func(t float64) float64 { return between(rows, t) * milliPerPercent }
		c := &Curve{Name: name, Kind: "cpu", IsReal: true, Seconds: 48 * 3600, CPU: noisy(name, 48*3600, level, nil)}
		r := seedOf(name + " pre")
		for t := rows[0][0]; t < 0; t += 60 {
			c.Pre = append(c.Pre, math.Max(0, level(t)*(1+sigma*r.normal())))
		}
		out = append(out, c)
	}
	const h = 3600
	cpu := func(name string, hours int, level func(float64) float64, edges []float64, steps ...[3]float64) {
		out = append(out, &Curve{Name: name, Kind: "cpu", Seconds: hours * h, CPU: noisy(name, hours*h, level, edges), Steps: steps})
	}
	cpu("constant", 12, func(float64) float64 { return 300 }, nil)
	cpu("step-x10", 12, func(t float64) float64 {
		if t >= 4*h+7 && t < 8*h+7 {
			return 900
		}
		return 90
	}, []float64{4*h + 7, 8*h + 7}, [3]float64{4*h + 7, 90, 900}, [3]float64{8*h + 7, 900, 90})
	cpu("sawtooth-10m", 12, func(t float64) float64 { return 100 + 800*math.Mod(t, 600)/600 }, sweep(12*h, 600))
	cpu("night-day", 48, func(t float64) float64 { return 500 - 420*math.Cos(2*math.Pi*t/(24*h)) }, nil)
	for i := 0; i < phases; i++ {
		// Against polls each 5 s and samples each 10 to 19 s every phase is another one.
		name, at := fmt.Sprintf("phase-%02d", i), 1800+3.7*float64(i)
		level := func(t float64) float64 {
			if t >= at {
				return 900
			}
			return 90
		}
		out = append(out, &Curve{Name: name, Kind: "phase", Seconds: h, CPU: noisy(name, h, level, []float64{at}), Steps: [][3]float64{{at, 90, 900}}})
	}
	var edges []float64
	for t := 300.0; t < 12*h; t += 600 {
		edges = append(edges, t+3, t+23)
	}
	cpu("spikes-20s", 12, func(t float64) float64 {
		if x := math.Mod(t-303+600, 600); x < 20 {
			return 900
		}
		return 100
	}, edges)
	mem := func(name string, hours int, m, cache *Load) {
		below := 0.0
		if m.Kind == "points" {
			below = 550 * mi
		}
		out = append(out, &Curve{StartsBelow: below, Name: name, Kind: "memory", Seconds: hours * h, CPU: noisy(name, hours*h, func(float64) float64 { return 100 }, nil), Memory: m, Cache: cache})
	}
	pts := func(p ...[2]float64) *Load {
		for i := range p {
			p[i][0] *= 1000
			p[i][1] *= mi
		}
		return &Load{Kind: "points", Points: p}
	}
	mem("mem-leak", 24, &Load{Kind: "leak", Base: 128 * mi, PerHour: 40 * mi}, constant(0))
	mem("mem-plateau-cache", 12, pts([2]float64{0, 300}, [2]float64{2 * h, 300}, [2]float64{2*h + 300, 600}, [2]float64{5 * h, 600}, [2]float64{5*h + 60, 300},
		[2]float64{8 * h, 300}, [2]float64{8*h + 300, 600}, [2]float64{12 * h, 600}), pts([2]float64{0, 0}, [2]float64{12 * h, 2048}))
	saw := [][2]float64{}
	for t := 0.0; t < 12*h; t += 600 {
		saw = append(saw, [2]float64{t, 250}, [2]float64{t + 599, 500})
	}
	mem("mem-gc-10m", 12, pts(saw...), constant(0))
	burst := [][2]float64{{0, 200}}
	for t := 1800.0; t < 12*h; t += 3600 {
		burst = append(burst, [2]float64{t, 200}, [2]float64{t + 60, 450}, [2]float64{t + 180, 450}, [2]float64{t + 185, 200})
	}
	mem("mem-burst-1h", 12, pts(burst...), constant(0))
	hours, _ := strconv.Atoi(os.Getenv("HOURS"))
	for _, c := range out {
		if hours > 0 {
			c.Seconds = min(c.Seconds, hours*h)
		}
		if c.Memory == nil {
			c.Memory = constant(200 * mi)
		}
		if c.Cache == nil {
			c.Cache = constant(0)
		}
	}
	return out, nil
}

func sweep(to, every float64) (out []float64) {
	for t := every; t < to; t += every {
		out = append(out, t)
	}
	return
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
