// SPDX-License-Identifier: Apache-2.0

package serve

import "github.com/kube-lifeline/lifeline/app/internal/datadir"

// archiveFile and journalFile are the files in the directory of a cluster.
func archiveFile(dir string) string { return datadir.Archive(dir) }
func journalFile(dir string) string { return datadir.Journal(dir) }

// place creates the directory of one cluster's files and returns it. By default it is in the user's
// state directory.
func place(dataDir, cluster string) (string, error) {
	if dataDir == "" {
		var err error
		if dataDir, err = datadir.Default(); err != nil {
			return "", err
		}
	}
	return datadir.Make(dataDir, cluster)
}
