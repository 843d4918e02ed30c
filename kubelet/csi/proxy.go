// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kube-lifeline/lifeline/kubelet/internal/relay"
)

// Proxy forwards the calls of a kubelet to a driver, and makes spans of some. Create one with New.
type Proxy struct {
	relay   *relay.Relay
	tracer  trace.Tracer
	volumes *volumes
	// name is the driver's name; nil while it is unknown.
	name atomic.Pointer[string]
	// asking is locked while a goroutine asks for the name.
	asking sync.Mutex
}

// New returns a proxy of the driver at a Unix socket. The driver need not listen yet. The caller
// closes the proxy.
func New(driver string, provider trace.TracerProvider) (*Proxy, error) {
	p := &Proxy{tracer: provider.Tracer(ScopeName), volumes: newVolumes()}
	var err error
	p.relay, err = relay.New(driver, observer{p})
	return p, err
}

// Close ends the waiting spans, and the connection to the driver.
func (p *Proxy) Close() error {
	p.volumes.close()
	err := p.relay.Close()
	p.asking.Lock() // the end of the connection has ended the question
	defer p.asking.Unlock()
	return err
}

// Serve listens on a Unix socket until ctx ends. It replaces the socket of an earlier process. Calls
// in progress get a second to end.
func (p *Proxy) Serve(ctx context.Context, socket string) error { return p.relay.Serve(ctx, socket) }

// observer makes the spans of a proxy.
type observer struct{ *Proxy }

func (o observer) Observes(method string) bool {
	o.askName()
	_, traced := layouts[method]
	return traced
}

func (o observer) Begin(ctx context.Context, method string, request []byte) (context.Context, func(error)) {
	ctx, c := o.begin(ctx, method, request)
	return ctx, func(err error) { o.end(ctx, c, err) }
}

// askName starts to ask the driver for its name, unless that is known or was asked already. No call
// waits for the answer.
func (p *Proxy) askName() {
	if p.name.Load() != nil || !p.asking.TryLock() {
		return
	}
	go func() {
		defer p.asking.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		response, err := p.relay.Call(ctx, "/csi.v1.Identity/GetPluginInfo", nil)
		if err != nil {
			return
		}
		name := ""
		each(response, func(field protowire.Number, value []byte) {
			if field == 1 {
				name = text(value)
			}
		})
		p.name.Store(&name)
	}()
}
