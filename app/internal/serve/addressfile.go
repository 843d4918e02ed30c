// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// addressFile is the part that notes the URL of the API in the directory of the cluster, so that commands on this
// machine find a server on any port. It starts after the journal is locked: the file is that of the lock's holder.
// Commands have no certificate authority for an API with TLS, so that one is not noted.
type addressFile struct{ dir, url string }

// Start implements part.
func (a *addressFile) Start(context.Context) error {
	if a.url == "" {
		return a.Stop() // a killed server may have left one
	}
	return datadir.WriteAddress(a.dir, a.url)
}

// Stop implements part.
func (a *addressFile) Stop() error {
	if err := os.Remove(datadir.Address(a.dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
