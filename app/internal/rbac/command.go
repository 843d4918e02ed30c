// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// Command writes the manifests for a cluster: `lifeline rbac`.
type Command struct {
	// Options are as in Write, except Offered, which Run sets.
	Options
	// REST is the cluster whose resources are listed; nil means the built-in list.
	REST *rest.Config
	// Out receives the manifests, Log the messages.
	Out, Log io.Writer
}

// Run writes the manifests. It writes nothing if the cluster does not answer. The code is 0, or 1
// with an error.
func (c *Command) Run(ctx context.Context) (code int, err error) {
	c.Offered = withGuessed(BuiltIn(), c.Config.Declared().Kinds())
	if c.REST != nil {
		c.Offered, err = watch.Offers(ctx, watch.Config{
			REST: c.REST, Relations: c.Config.Declared(),
			Warn: func(format string, args ...any) { fmt.Fprintf(c.Log, "lifeline: "+format+"\n", args...) },
		})
		if err != nil {
			return 1, fmt.Errorf("%w; --offline writes the rights for what is built in", err)
		}
	}
	if err := Write(c.Out, c.Options); err != nil {
		return 1, err
	}
	return 0, nil
}
