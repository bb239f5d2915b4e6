// Command pack writes a one-layer image archive, for `ctr images import`. The first program is the entrypoint.
//
//	pack NAME[,NAME] PROGRAM[:PATH IN THE IMAGE]... OUT.tar
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

type file struct {
	path    string
	mode    int64
	content []byte
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: pack NAME[,NAME] PROGRAM[:PATH]... OUT.tar")
		os.Exit(2)
	}
	last := len(os.Args) - 1
	if err := pack(strings.Split(os.Args[1], ","), os.Args[2:last], os.Args[last]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(names, programs []string, out string) error {
	var files []file
	for _, program := range programs {
		from, path, given := strings.Cut(program, ":")
		if !given {
			path = filepath.Base(from)
		}
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		files = append(files, file{path, 0o755, content})
	}
	layer, err := archive(files...)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/" + files[0].path}, "User": "0"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history":      []any{map[string]string{"created_by": "pack"}},
	})
	if err != nil {
		return err
	}
	configPath := digest(config) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{
		"Config": configPath, "RepoTags": names, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	image, err := archive(file{"layer.tar", 0o644, layer}, file{configPath, 0o644, config}, file{"manifest.json", 0o644, manifest})
	if err != nil {
		return err
	}
	return os.WriteFile(out, image, 0o644)
}

func archive(files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func digest(content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
