// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"

	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
)

// maintaining is the part that offers the operations on the archive to lifeline archive, on a Unix
// socket. A server without the socket works as well. The stop ends running operations.
type maintaining struct {
	local   *maintenance.Local
	version string
	log     *slog.Logger

	background
}

func newMaintaining(local *maintenance.Local, version string, log *slog.Logger) *maintaining {
	return &maintaining{local: local, version: version, log: log}
}

// Start implements part.
func (m *maintaining) Start(ctx context.Context) error {
	if err := maintenance.RemoveCopies(m.local.Dir); err != nil {
		m.log.Warn("cannot remove the copy of an interrupted backup", errAttr(err))
	}
	ln, err := maintenance.Listen(ctx, m.local.Dir)
	if err != nil {
		m.log.Warn("lifeline archive cannot use this server: it needs a stopped one", errAttr(err))
		return nil
	}
	m.begin(ctx, func(ctx context.Context) {
		if err := maintenance.Serve(ctx, ln, m.local, m.version); err != nil {
			m.log.Warn("lifeline archive cannot use this server any more", errAttr(err))
		}
	})
	return nil
}
