// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

const (
	// probePatience bounds the wait for an unnamed server on this machine.
	probePatience = 300 * time.Millisecond
	// askPatience bounds the wait for a named server, or for one that is not ready.
	askPatience = 10 * time.Second
	// identityPatience bounds the request for the identity of the kubeconfig's cluster.
	identityPatience = 3 * time.Second
)

// The environment variables of a server: EnvServer has its URL or NoServer, EnvTokenFile and EnvCAFile
// the files of client.Access.
const (
	EnvServer    = "LIFELINE_SERVER"
	EnvTokenFile = "LIFELINE_TOKEN_FILE"
	EnvCAFile    = "LIFELINE_CA_FILE"
)

// NoServer replaces a URL and selects no server.
const NoServer = "none"

// Server selects the `lifeline serve` to use. The zero value uses the server in the environment.
// Without one, it uses a server on this machine that watches the kubeconfig's cluster, or else the one in that
// cluster, through its API server.
type Server struct {
	// URL is the value of --server. Named means that the flag was given. A given but empty flag, or
	// NoServer, selects no server.
	URL   string
	Named bool
	// Access has the values of --token-file and --ca-file; an empty one is that of the environment. It
	// is for a server that a flag or the environment names: another program may have the default
	// address, and must not get a token.
	Access client.Access
	// Direct selects no server, regardless of the other fields.
	Direct bool
	// Outside leaves out the server in the cluster. The way through the API server only reads.
	Outside bool
}

// Session is a server that responded, with its description. Close releases its connection.
type Session struct {
	*client.Client
	About api.Info
}

// Connect returns the selected server; nil if there is none. It also returns nil, with a message, for a local server of
// another cluster, and for one in the cluster that gives no answer. An unreachable named server is an error.
func (o *Options) Connect(ctx context.Context, s Server) (*Session, error) {
	found, err := o.Need(ctx, s)
	var absent *absentError
	if !errors.As(err, &absent) {
		return found, err
	}
	var answer *api.Error
	if errors.As(absent.why, &answer) { // a command without a server gets the other errors itself
		o.Say("%s", OneLine(answer))
	}
	return nil, nil
}

// Need is Connect for a command that needs a server: without one, it returns an error.
func (o *Options) Need(ctx context.Context, s Server) (*Session, error) {
	url, origin, access := o.named(s)
	switch url {
	case NoServer:
		return nil, &absentError{}
	case "":
		if s.Access != (client.Access{}) {
			return nil, errors.New("--token-file and --ca-file are for a server with a name: name it with --server")
		}
		found, err := o.localServer(ctx, client.DefaultServer, o.notedServers()...)
		if found == nil && err == nil && !s.Outside {
			return clusterServer(ctx, o)
		}
		if found == nil && err == nil {
			err = &absentError{}
		}
		return found, err
	}
	found, err := o.find(ctx, url, access, askPatience)
	var other *otherClusterError
	switch {
	case errors.As(err, &other):
		return nil, fmt.Errorf("the server that %s names watches cluster %s, and your kubeconfig is for %s: choose "+
			"its context with --context, or ask no server with --server \"\"", origin, Shown(other.watched),
			Shown(other.meant))
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s did not answer within %s", Shown(url), askPatience)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask the server that %s names: %w", origin, err)
	}
	return found, nil
}

// named returns the URL of the selected server, the name of the flag or variable that it is from, and
// the access to it. The URL is NoServer for none, and empty for an unnamed server.
func (o *Options) named(s Server) (url, origin string, access client.Access) {
	access = client.Access{
		TokenFile: First(s.Access.TokenFile, o.Env(EnvTokenFile)),
		CAFile:    First(s.Access.CAFile, o.Env(EnvCAFile)),
	}
	switch {
	case s.Direct, s.Named && s.URL == "":
		return NoServer, "--server", access
	case s.Named:
		return s.URL, "--server", access
	}
	return o.Env(EnvServer), EnvServer, access
}

// Client returns a client of the selected server, without a request to it; nil if no server is selected. An unnamed
// server is that at the default address if a program listens there, or else the one in the cluster.
func (o *Options) Client(s Server) (*client.Client, error) {
	url, _, access := o.named(s)
	switch {
	case url == NoServer:
		return nil, nil
	case url == "" && o.Kubeconfig != nil && !s.Outside && !listens(client.DefaultServer):
		return through(o)
	case url == "":
		return client.New("", client.Access{})
	}
	return client.New(url, access)
}

// SayIfAway prints a message if no server answers the client soon.
func (o *Options) SayIfAway(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	if _, err := c.Info(ctx); errors.Is(err, client.ErrNoServer) || errors.Is(err, context.DeadlineExceeded) {
		o.Say("%s", OneLine(err))
	}
}

// FindServer returns the server that commands use; nil if there is none. The caller closes it.
func (o *Options) FindServer(ctx context.Context, s Server) (*client.Client, error) {
	found, err := o.Connect(ctx, s)
	if found == nil {
		return nil, err
	}
	return found.Client, nil
}

// notedServers returns the URLs that servers on this machine noted in the default data directory.
func (o *Options) notedServers() []string {
	dir, err := datadir.Default()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(datadir.Addresses(dir), func(url string) bool { return url == client.DefaultServer })
}

// localServer looks for an unnamed server on this machine: at url, then at the other URLs. A server has another port
// if url is in use by another program, such as the server of another cluster.
func (o *Options) localServer(ctx context.Context, url string, others ...string) (*Session, error) {
	found, err := o.find(ctx, url, client.Access{}, probePatience)
	if err == nil {
		return found, nil
	}
	for _, at := range others {
		if found, err := o.find(ctx, at, client.Access{}, probePatience); err == nil {
			return found, nil
		}
	}
	var other *otherClusterError
	if errors.As(err, &other) {
		o.Say("the server at %s watches another cluster (%s) than that of your kubeconfig (%s): it is not used", Shown(
			other.server,
		), Shown(other.watched), Shown(other.meant))
	}
	var answer *api.Error
	switch {
	case client.NotReady(err):
		o.Say("the server at %s is not ready: it is not used", Shown(url))
	case errors.As(err, &answer) && answer.Code == http.StatusUnauthorized:
		o.Say("the server at %s requires a token: it is not used, unless you name it with --server", Shown(url))
	}
	return nil, nil
}

// otherClusterError means that a server watches another cluster than the kubeconfig's.
type otherClusterError struct{ server, watched, meant string }

// Error implements error.
func (e *otherClusterError) Error() string {
	return fmt.Sprintf("the server at %s watches cluster %s, not %s", e.server, e.watched, e.meant)
}

// find connects to a server. It returns an otherClusterError for a server of another cluster, and
// prints a message if the cluster is uncertain.
func (o *Options) find(
	ctx context.Context, url string, access client.Access, patience time.Duration,
) (*Session, error) {
	found, err := o.reach(ctx, url, access, patience)
	if err != nil {
		return nil, err
	}
	other, err := o.otherCluster(ctx, found)
	switch {
	case err != nil:
		o.Say("cannot tell whether the server at %s watches the cluster of your kubeconfig: %s", Shown(
			found.Server(),
		), Shown(err.Error()))
	case other != "":
		found.Close()
		return nil, &otherClusterError{server: found.Server(), watched: found.About.Cluster, meant: other}
	}
	sayBounds(o, found)
	return found, nil
}

// reach requests a server's information. It waits for a server that is not ready.
func (o *Options) reach(
	ctx context.Context, url string, access client.Access, patience time.Duration,
) (*Session, error) {
	c, err := client.New(url, access)
	if err != nil {
		return nil, err
	}
	return describe(ctx, o, c, patience)
}

// describe returns the session of a client, which it closes if the server does not answer.
func describe(ctx context.Context, o *Options, c *client.Client, patience time.Duration) (*Session, error) {
	c.Patience = 0
	info, err := about(ctx, c, patience)
	c.Patience = client.DefaultPatience
	if client.NotReady(err) {
		o.Say("waiting for the server at %s: %s", Shown(c.Server()), OneLine(err))
		info, err = about(ctx, c, askPatience)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Session{Client: c, About: *info}, nil
}

func about(ctx context.Context, c *client.Client, patience time.Duration) (*api.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Info(ctx)
}

// otherCluster returns the kubeconfig's cluster if the server watches another one. An error means
// that the comparison is impossible.
func (o *Options) otherCluster(ctx context.Context, s *Session) (string, error) {
	if o.Kubeconfig == nil {
		return "", nil // there is no cluster to compare with
	}
	if s.About.Cluster == "" {
		return "", errors.New("the server does not say which cluster it watches")
	}
	ctx, cancel := context.WithTimeout(ctx, o.Beside(identityPatience))
	defer cancel()
	id, err := watch.Identity(ctx, rest.CopyConfig(o.Kubeconfig.Current()))
	switch {
	case err != nil:
		return "", err
	case id == s.About.Cluster:
		return "", nil
	case strings.HasPrefix(id, addressIdentity) != strings.HasPrefix(s.About.Cluster, addressIdentity):
		return "", errors.New("its namespace kube-system, whose UID names it, may not be read by you or by the server")
	}
	return id, nil
}

// addressIdentity is the prefix of a cluster identity without access to its UID.
const addressIdentity = "server-"
