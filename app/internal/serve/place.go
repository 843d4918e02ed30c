// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// archiveFile and journalFile are the files in the directory of a cluster.
func archiveFile(dir string) string { return filepath.Join(dir, "lifeline.db") }
func journalFile(dir string) string { return filepath.Join(dir, "journal.db") }

// place creates the directory of one cluster's files and returns it. By default it is in the user's
// state directory.
func place(dataDir, cluster string) (string, error) {
	if dataDir == "" {
		var err error
		if dataDir, err = stateDir(); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(dataDir, folder(cluster))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the directory of the data (dataDir): %w", err)
	}
	return dir, nil
}

// stateDir is the directory for the state of the user's programs.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lifeline"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("cannot find a place for the data without a home directory: set dataDir")
	}
	return filepath.Join(home, ".local", "state", "lifeline"), nil
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
