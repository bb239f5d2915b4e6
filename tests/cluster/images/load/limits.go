package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const mount = "/sys/fs/cgroup"

// noLimit is less than what cgroup v1 reports for "no limit" (the largest int64, rounded down to a page).
const noLimit = 1 << 62

// limits is what the kernel enforces on this container; null is "no limit", or
// a figure that this cgroup version doesn't have.
type limits struct {
	CgroupVersion int    `json:"cgroupVersion"`
	CPUMillicores *int64 `json:"cpuMillicores"` // from the quota
	MemoryBytes   *int64 `json:"memoryBytes"`
	CPUShares     *int64 `json:"cpuShares"` // the CPU request: v1, max(2, millicores*1024/1000)
	CPUWeight     *int64 `json:"cpuWeight"` // the CPU request: v2, derived from the shares by the runtime
}

func showLimits(w http.ResponseWriter, _ *http.Request) {
	l, err := readLimits()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(l)
}

func readLimits() (limits, error) {
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return readV2()
	}
	return readV1()
}

func readV1() (limits, error) {
	l := limits{CgroupVersion: 1}
	cpu, err := directory("cpu")
	if err != nil {
		return l, err
	}
	memory, err := directory("memory")
	if err != nil {
		return l, err
	}
	quota, err := readNumber(cpu, "cpu.cfs_quota_us")
	if err != nil {
		return l, err
	}
	period, err := readNumber(cpu, "cpu.cfs_period_us")
	if err != nil {
		return l, err
	}
	shares, err := readNumber(cpu, "cpu.shares")
	if err != nil {
		return l, err
	}
	bytes, err := readNumber(memory, "memory.limit_in_bytes")
	if err != nil {
		return l, err
	}
	l.CPUShares = &shares
	l.CPUMillicores = millicores(quota, period)
	if bytes < noLimit {
		l.MemoryBytes = &bytes
	}
	return l, nil
}

func readV2() (limits, error) {
	l := limits{CgroupVersion: 2}
	dir, err := directory("")
	if err != nil {
		return l, err
	}
	weight, err := readNumber(dir, "cpu.weight")
	if err != nil {
		return l, err
	}
	l.CPUWeight = &weight
	fields, err := readFields(dir, "cpu.max") // "max 100000" or "60000 100000"
	if err != nil {
		return l, err
	}
	if len(fields) == 2 && fields[0] != "max" {
		quota, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return l, err
		}
		period, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return l, err
		}
		l.CPUMillicores = millicores(quota, period)
	}
	fields, err = readFields(dir, "memory.max")
	if err != nil {
		return l, err
	}
	if len(fields) == 1 && fields[0] != "max" {
		bytes, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return l, err
		}
		l.MemoryBytes = &bytes
	}
	return l, nil
}

// millicores rounds to the nearest: the kubelet truncates the quota to whole microseconds.
func millicores(quota, period int64) *int64 {
	if quota <= 0 || period <= 0 {
		return nil
	}
	m := (quota*1000 + period/2) / period
	return &m
}

// directory finds this process's own directory of a v1 controller, or of v2 for "". The path in
// /proc/self/cgroup exists below the mount only when the whole hierarchy is mounted; runtimes
// usually mount the container's own directory instead, and that is then the mount itself.
func directory(controller string) (string, error) {
	file, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); { // "4:cpu,cpuacct:/kubepods/..."; v2: "0::/..."
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 || !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		root := filepath.Join(mount, parts[1])
		if own := filepath.Join(root, parts[2]); isDirectory(own) {
			return own, nil
		}
		return root, nil
	}
	return filepath.Join(mount, controller), nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readFields(dir, name string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	return strings.Fields(string(content)), err
}

func readNumber(dir, name string) (int64, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
}
