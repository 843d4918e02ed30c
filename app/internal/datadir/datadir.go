// SPDX-License-Identifier: Apache-2.0

// Package datadir names the files in the data directory of `lifeline serve`: one subdirectory for
// each cluster, with the archive, the journal and the socket of the cluster's server.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Archive returns the path of the archive in the directory of a cluster.
func Archive(dir string) string { return filepath.Join(dir, "lifeline.db") }

// Journal returns the path of the server's journal.
func Journal(dir string) string { return filepath.Join(dir, "journal.db") }

// Socket returns the path of the running server's Unix socket.
func Socket(dir string) string { return filepath.Join(dir, "archive.sock") }

// Default returns the data directory without a configuration: in the user's directory for the state
// of programs.
func Default() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lifeline"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("cannot find a place for the data without a home directory: set dataDir")
	}
	return filepath.Join(home, ".local", "state", "lifeline"), nil
}

// Cluster returns the directory of one cluster.
func Cluster(dataDir, uid string) string { return filepath.Join(dataDir, folder(uid)) }

// Make creates the directory of one cluster, for its owner alone.
func Make(dataDir, uid string) (string, error) {
	dir := Cluster(dataDir, uid)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the directory of the data (dataDir): %w", err)
	}
	return dir, nil
}

// folder is the name of a cluster as a file name.
func folder(cluster string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, cluster)
}

// Clusters returns the names of the directories with an archive or a journal, in order.
func Clusters(dataDir string) ([]string, error) {
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		dir := filepath.Join(dataDir, e.Name())
		for _, file := range []string{Archive(dir), Journal(dir)} {
			_, err := os.Stat(file)
			if err == nil {
				out = append(out, e.Name())
				break
			}
			if !errors.Is(err, fs.ErrNotExist) && !isNotDirectory(dir) {
				return nil, err
			}
		}
	}
	return out, nil
}

func isNotDirectory(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.IsDir()
}
