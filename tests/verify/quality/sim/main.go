// Command sim makes the curves, and runs the real VPA's algorithm and static sizes over them. What it writes is scored by
// ../score.ts.
//
//	sim curves TRACES OUT   OUT/curves/NAME.json; of HOURS hours at most, if that is set
//	sim rivals OUT          OUT/runs/CONTROLLER/NAME.json, of VPA configurations and static sizes
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	_ = flag.Set("logtostderr", "false")
	_ = flag.Set("stderrthreshold", "FATAL")
	_ = flag.Set("alsologtostderr", "false")
	klog.SetOutput(devNull{})
	if len(os.Args) < 3 || os.Args[1] == "curves" && len(os.Args) < 4 {
		fail(fmt.Errorf("usage: sim curves TRACES OUT | sim rivals OUT"))
	}
	switch os.Args[1] {
	case "curves":
		curves, err := makeCurves(os.Args[2])
		fail(err)
		for _, c := range curves {
			fail(writeJSON(filepath.Join(os.Args[3], "curves", c.Name+".json"), c))
		}
	case "rivals":
		for _, c := range readCurves(os.Args[2]) {
			if c.Kind == "phase" {
				continue
			}
			for _, run := range listStatic(c) {
				fail(writeJSON(filepath.Join(os.Args[2], "runs", run.Controller, c.Name+".json"), run))
			}
			for _, cfg := range vpaConfigs() {
				if cfg.warm && len(c.Pre) == 0 {
					continue
				}
				fail(writeJSON(filepath.Join(os.Args[2], "runs", cfg.name, c.Name+".json"), runVPA(cfg, c)))
			}
		}
	}
}

func readCurves(out string) (curves []*Curve) {
	files, _ := filepath.Glob(filepath.Join(out, "curves", "*.json"))
	sort.Strings(files)
	for _, f := range files {
		c := &Curve{}
		fail(readJSON(f, c))
		curves = append(curves, c)
	}
	return curves
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

type devNull struct{}

func (devNull) Write(b []byte) (int, error) { return len(b), nil }
