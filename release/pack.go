// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options are the input of a release, and its place.
type options struct {
	built, dist, source, chart       string // folders, and the file of the chart
	version, revision, url, registry string
	created                          time.Time
}

// number is the version without its v, as in names of files and tags of images.
func (o options) number() string { return strings.TrimPrefix(o.version, "v") }

// artifact is one entry of GoReleaser's artifacts.json.
type artifact struct {
	Name, Path, Type string
	Goos, Goarch     string
	Extra            struct{ ID, Binary string }
}

// published are the types of artifacts that users download. Programs are in archives and images.
var published = map[string]bool{
	"Archive": true, "Linux Package": true, "SBOM": true,
	"Krew Plugin Manifest": true, "Homebrew Formula": true, "Scoop Manifest": true,
}

// programs have an image each.
var programs = []program{
	{name: "lifeline", arguments: []string{"serve"}, title: "Lifeline"},
	{name: "lifeline-scheduler", title: "kube-scheduler with spans"},
	{name: "lifeline-csi-proxy", title: "Spans of the calls from kubelet to CSI drivers"},
	{name: "lifeline-device-proxy", title: "Spans of the calls from kubelet to device plugins"},
}

// pack fills o.dist, which is absent or empty.
func pack(o options) error {
	if err := os.MkdirAll(o.dist, 0o755); err != nil { //nolint:gosec // it is for everybody
		return err
	}
	if entries, err := os.ReadDir(o.dist); err != nil || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", o.dist))
	}
	artifacts, err := readArtifacts(o.built)
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		if published[a.Type] {
			if err := copyFile(filepath.Join(o.dist, filepath.Base(a.Path)), a.Path); err != nil {
				return err
			}
		}
	}
	if err := packImages(o, artifacts); err != nil {
		return err
	}
	if err := packChart(o); err != nil {
		return err
	}
	if err := packInstaller(o); err != nil {
		return err
	}
	return writeChecksums(o.dist)
}

// readArtifacts returns the list of GoReleaser, whose paths are relative to the folder that it ran in.
func readArtifacts(built string) ([]artifact, error) {
	text, err := os.ReadFile(filepath.Join(built, "artifacts.json"))
	if err != nil {
		return nil, err
	}
	var all []artifact
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("cannot read artifacts.json: %w", err)
	}
	return all, nil
}

// packImages writes the image of each program that was built for Linux, and their digests to images.txt.
func packImages(o options, artifacts []artifact) error {
	var digests strings.Builder
	for _, p := range programs {
		binaries := map[string]string{}
		for _, a := range artifacts {
			if a.Type == "Binary" && a.Goos == "linux" && a.Extra.Binary == p.name {
				binaries[a.Goarch] = a.Path
			}
		}
		if len(binaries) == 0 {
			continue
		}
		index, err := p.image(o, binaries)
		if err != nil {
			return fmt.Errorf("cannot make the image of %s: %w", p.name, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		reference := o.registry + "/" + p.name + ":" + o.number()
		path := filepath.Join(o.dist, p.name+"_"+o.number()+"_image.tar")
		if err := writeLayout(path, o.created, reference, index); err != nil {
			return err
		}
		fmt.Fprintf(&digests, "%s@%s\n", reference, digest)
	}
	return writeFile(filepath.Join(o.dist, "images.txt"), []byte(digests.String()), 0o644)
}

// packInstaller writes install.sh with the version and the address of its files.
func packInstaller(o options) error {
	text, err := os.ReadFile(filepath.Join(o.source, "release", "install.sh"))
	if err != nil {
		return err
	}
	rendered := strings.NewReplacer("@VERSION@", o.version, "@RELEASE_URL@", o.url).Replace(string(text))
	return writeFile(filepath.Join(o.dist, "install.sh"), []byte(rendered), 0o755)
}

// writeChecksums writes checksums.txt in the form of sha256sum.
func writeChecksums(dist string) error {
	entries, err := os.ReadDir(dist) // sorted
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		sum, err := checksum(filepath.Join(dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, e.Name())
	}
	return writeFile(filepath.Join(dist, "checksums.txt"), []byte(lines.String()), 0o644)
}

func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, text, 0o644)
}

// writeFile writes a new file, with its mode whatever the umask.
func writeFile(path string, text []byte, mode os.FileMode) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("two files of the release have the name %s", filepath.Base(path))
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
