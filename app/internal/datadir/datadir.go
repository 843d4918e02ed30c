// SPDX-License-Identifier: Apache-2.0

// Package datadir names the files in the data directory of `lifeline serve`: one subdirectory for
// each cluster, with the archive, the journal, and the socket and the address of the cluster's server.
package datadir

import (
	"errors"
	"fmt"
	"io"
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

// Address returns the path of the file with the URL of the running server's API.
func Address(dir string) string { return filepath.Join(dir, "server.url") }

// maxURL bounds the content of an address file, in bytes.
const maxURL = 256

// WriteAddress notes the URL of the running server's API in the directory of its cluster.
func WriteAddress(dir, url string) error {
	if err := os.WriteFile(Address(dir), []byte(url+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot note the address of the server (dataDir): %w", err)
	}
	return nil
}

// Addresses returns the noted URLs of all clusters' servers, in the order of the directories' names. The server of
// a URL may have been killed since.
func Addresses(dataDir string) []string {
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		f, err := os.Open(Address(filepath.Join(dataDir, e.Name())))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxURL))
		_ = f.Close() // only read
		if url := strings.TrimSpace(string(text)); err == nil && url != "" {
			out = append(out, url)
		}
	}
	return out
}

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
