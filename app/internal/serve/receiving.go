// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
)

// receiving is the part that receives spans of other components. After its stop, all received spans
// are in the intake. Without an address in the configuration it does nothing.
type receiving struct {
	conf     config.OTLPReceiverConfiguration
	sink     otlp.Sink
	log      *slog.Logger
	fail     func(error)
	receiver *otlp.Receiver // nil if not configured

	background
}

func newReceiving(c config.OTLPReceiverConfiguration, sink otlp.Sink, log *slog.Logger, fail func(error)) *receiving {
	return &receiving{conf: c, sink: sink, log: log, fail: fail}
}

// Start implements part.
func (r *receiving) Start(ctx context.Context) (err error) {
	if r.conf.GRPC.Address == "" && r.conf.HTTP.Address == "" {
		return nil
	}
	r.receiver, err = otlp.New(ctx, otlp.Options{
		Sink: r.sink, GRPC: endpoint(r.conf.GRPC), HTTP: endpoint(r.conf.HTTP), Log: r.log,
	})
	if err != nil {
		return fmt.Errorf("%w (receivers.otlp)", err)
	}
	for what, addr := range map[string]any{"gRPC": r.receiver.GRPCAddr(), "HTTP": r.receiver.HTTPAddr()} {
		if addr != nil {
			r.log.Info("OTLP is received", "over", what, "address", fmt.Sprint(addr))
		}
	}
	r.begin(ctx, func(ctx context.Context) {
		if err := r.receiver.Run(ctx); err != nil && ctx.Err() == nil {
			r.fail(fmt.Errorf("cannot receive OTLP: %w", err))
		}
	})
	return nil
}

// addresses returns the bound addresses; nil without one.
func (r *receiving) addresses() (overGRPC, overHTTP net.Addr) {
	if r.receiver == nil {
		return nil, nil
	}
	return r.receiver.GRPCAddr(), r.receiver.HTTPAddr()
}

// stats returns the counts.
func (r *receiving) stats() otlp.Stats {
	if r.receiver == nil {
		return otlp.Stats{}
	}
	return r.receiver.Stats()
}
