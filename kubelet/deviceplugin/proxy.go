// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kube-lifeline/lifeline/kubelet/internal/relay"
	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// registration is the name of the socket to which plugins send their registrations.
const registration = "kubelet.sock"

// look is the time between two looks at the kubelet's socket.
const look = time.Second

// Proxy stands between the device plugins of a node and its kubelet.
type Proxy struct {
	// Kubelet is the kubelet's directory, with its socket and its checkpoint. The sockets of the proxy are there,
	// too.
	Kubelet string
	// Plugins is the directory that the plugins have in place of the kubelet's.
	Plugins string
	// Provider makes the spans.
	Provider trace.TracerProvider
	// Log gets an error that ends no call; nil for none.
	Log func(error)
}

// Serve takes registrations, and forwards calls, until ctx ends. After each start of the kubelet it replaces its
// socket, like the kubelet. Plugins then register again.
func (p *Proxy) Serve(ctx context.Context) error {
	for {
		kubelet, err := p.await(ctx)
		if err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		if err := p.serve(ctx, kubelet); err != nil {
			return err
		}
	}
}

// await waits for the kubelet's socket.
func (p *Proxy) await(ctx context.Context) (fs.FileInfo, error) {
	for {
		if info, err := os.Stat(filepath.Join(p.Kubelet, registration)); err == nil {
			return info, ctx.Err()
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// serve serves one kubelet: until ctx ends, or that socket is another one or gone.
func (p *Proxy) serve(ctx context.Context, kubelet fs.FileInfo) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &registrar{Proxy: p, ctx: ctx, relays: map[registered]context.CancelFunc{}}
	l, err := relay.Listen(ctx, filepath.Join(p.Plugins, registration), "")
	if err != nil {
		return err
	}
	r.running.Go(func() {
		defer cancel()
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			now, err := os.Stat(filepath.Join(p.Kubelet, registration))
			if err != nil || !os.SameFile(now, kubelet) || !now.ModTime().Equal(kubelet.ModTime()) {
				return
			}
		}
	})
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	plugin.RegisterRegistrationServer(server, r)
	err = relay.Run(ctx, server, l)
	cancel()
	r.running.Wait()
	return err
}

// registered is a registration of a plugin.
type registered struct{ endpoint, resource string }

// registrar takes registrations for one kubelet.
type registrar struct {
	plugin.UnimplementedRegistrationServer
	*Proxy

	ctx     context.Context //nolint:containedctx // it is the life of the registrar
	running sync.WaitGroup

	mu sync.Mutex
	// relays has the end of the relay of each registration. Both an endpoint and a resource have one at most.
	relays map[registered]context.CancelFunc
}

// Register makes a socket for the plugin, and registers that with the kubelet.
func (r *registrar) Register(ctx context.Context, in *plugin.RegisterRequest) (*plugin.Empty, error) {
	endpoint := in.GetEndpoint()
	if endpoint == "." || endpoint == registration || filepath.Base(endpoint) != endpoint ||
		!filepath.IsLocal(endpoint) {
		return nil, status.Errorf(codes.InvalidArgument, "the endpoint %q is no name of a file", tracing.Text(endpoint))
	}
	own := "lifeline-" + endpoint
	if err := r.open(endpoint, own, in.GetResourceName()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	connection, err := grpc.NewClient("unix:"+filepath.Join(r.Kubelet, registration),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	defer func() { _ = connection.Close() }()
	return plugin.NewRegistrationClient(connection).Register(ctx, &plugin.RegisterRequest{
		Version: in.GetVersion(), Endpoint: own, ResourceName: in.GetResourceName(), Options: in.GetOptions(),
	})
}

// open starts to forward calls at the kubelet's socket own to the plugin's socket endpoint. It ends the earlier
// relays of the endpoint and of the resource: a plugin may start again with another endpoint.
func (r *registrar) open(endpoint, own, resource string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for earlier, end := range r.relays {
		if earlier.endpoint == endpoint || earlier.resource == resource {
			end()
			delete(r.relays, earlier)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	o := newObserver(ctx, r.Provider.Tracer(ScopeName), r.Kubelet, resource)
	to, err := relay.New(filepath.Join(r.Plugins, endpoint), o)
	if err != nil {
		cancel()
		return err
	}
	l, err := to.Listen(ctx, filepath.Join(r.Kubelet, own))
	if err != nil {
		cancel()
		return errors.Join(err, to.Close())
	}
	done := make(chan struct{})
	r.relays[registered{endpoint, resource}] = func() { cancel(); <-done }
	r.running.Go(func() {
		defer close(done)
		if err := errors.Join(to.ServeOn(ctx, l), to.Close()); err != nil && r.Log != nil {
			r.Log(fmt.Errorf("cannot forward the calls to the plugin %s: %w", endpoint, err))
		}
		cancel()
		o.waits.Wait()
	})
	return nil
}
