// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
)

// startMaintenance offers the operations on the archive to lifeline archive, on a Unix socket. A
// server without the socket works as well. The returned function ends running operations.
func (s *server) startMaintenance(ctx context.Context) (end func()) {
	dir, err := place(s.conf.Load().DataDir, s.cluster)
	if err != nil {
		s.log.Warn("lifeline archive cannot use this server", errAttr(err))
		return func() {}
	}
	if err := maintenance.RemoveCopies(dir); err != nil {
		s.log.Warn("cannot remove the copy of an interrupted backup", errAttr(err))
	}
	ln, err := maintenance.Listen(ctx, dir)
	if err != nil {
		s.log.Warn("lifeline archive cannot use this server: it needs a stopped one", errAttr(err))
		return func() {}
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o := &maintenance.Local{
			UID:     s.cluster,
			Dir:     dir,
			Archive: s.archive.Archive,
			Log:     s.archive,
			Journal: s.journal,
			Outbox:  s.outbox,
		}
		if err := maintenance.Serve(running, ln, o, s.opts.Version); err != nil {
			s.log.Warn("lifeline archive cannot use this server any more", errAttr(err))
		}
	}()
	return func() { cancel(); <-ended }
}
