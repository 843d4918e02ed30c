// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestListWatches(t *testing.T) {
	server := serve(t, "cluster-1")
	begun := spantest.New("change")
	begun.Deployment(nil, 0, 100)
	change := begun.Trace
	id := change.ID.String()[:8]
	out, log := clitest.WaitFor(id), &clitest.Output{}
	signals := make(chan os.Signal, 1)
	l := List{Server: cli.Server{URL: server.URL, Named: true}, Watch: true, Signals: signals, Limit: 1}
	l.Options, _, _ = asking(cli.OutputTable)
	l.Streams = genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: log}
	server.hub.Publish([]api.Update{{Trace: change, Open: true, AsOf: asked}}) // sent to each new stream
	go func() {
		<-out.Seen
		server.hub.Publish([]api.Update{{Trace: change, AsOf: asked}})
		for end := time.Now().Add(10 * time.Second); strings.Count(out.String(), id) < 2 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		signals <- syscall.SIGINT
	}()
	code, err := l.Run(context.Background())
	if code != cli.CodeInterrupted || err != nil {
		t.Fatalf("code %d, %v\n%s", code, err, log)
	}
	if n := strings.Count(out.String(), id); n != 2 {
		t.Errorf("the change has %d rows, want two (open and converged):\n%s", n, out)
	}
	if n := strings.Count(out.String(), "WHEN"); n != 1 {
		t.Errorf("%d headers:\n%s", n, out)
	}
}
