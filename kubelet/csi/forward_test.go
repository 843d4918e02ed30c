// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kube-lifeline/lifeline/kubelet/csi"
)

// slow is a listener with connections that need some time before their first write.
type slow struct {
	net.Listener
	delay time.Duration
}

func (s slow) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	return &slowConn{Conn: c, delay: s.delay}, err
}

type slowConn struct {
	net.Conn
	delay time.Duration
	once  sync.Once
}

func (c *slowConn) Write(b []byte) (int, error) {
	c.once.Do(func() { <-time.After(c.delay) })
	return c.Conn.Write(b)
}

// talks is a service with one method that has streams of requests and responses.
var talks = grpc.ServiceDesc{
	ServiceName: "test.Talks", HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{{StreamName: "Talk", Handler: talk, ServerStreams: true, ClientStreams: true}},
}

// talk sends a header at once, and then each request back. The request "fail" ends the call.
func talk(_ any, stream grpc.ServerStream) error {
	if err := echo(stream.Context(), stream.SendHeader); err != nil {
		return err
	}
	for {
		var text wrapperspb.StringValue
		err := stream.RecvMsg(&text)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text.GetValue() == "fail" {
			return status.Error(codes.DataLoss, "failed")
		}
		if err := stream.SendMsg(&text); err != nil {
			return err
		}
	}
}

// talkTo calls the method talk.
func (s *set) talkTo(ctx context.Context, t *testing.T) grpc.ClientStream {
	t.Helper()
	stream, err := s.connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/test.Talks/Talk")
	must(t, err)
	return stream
}

// TestStreams: requests and responses pass in turn. A call of no traced method needs no request.
func TestStreams(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream := s.talkTo(ctx, t)
	if header, err := stream.Header(); err != nil || len(header.Get("deadline")) != 1 {
		t.Fatalf("header %v, error %v", header, err)
	}
	for _, text := range []string{"a", "b", "c"} {
		must(t, stream.SendMsg(wrapperspb.String(text)))
		var got wrapperspb.StringValue
		must(t, stream.RecvMsg(&got))
		if got.GetValue() != text {
			t.Errorf("the response is %q, want %q", got.GetValue(), text)
		}
	}
	must(t, stream.CloseSend())
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); !errors.Is(err, io.EOF) {
		t.Errorf("after the last request: %v", err)
	}
	if got := stream.Trailer().Get("last"); !slices.Equal(got, []string{"trailer"}) {
		t.Errorf("the trailer is %v", got)
	}
}

// TestStreamEnds: the driver or the caller ends a call while the other could still send.
func TestStreamEnds(t *testing.T) {
	s := start(t)
	stream := s.talkTo(t.Context(), t)
	must(t, stream.SendMsg(wrapperspb.String("fail")))
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); status.Code(err) != codes.DataLoss {
		t.Errorf("the driver's error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream = s.talkTo(ctx, t)
	_, err := stream.Header()
	must(t, err)
	cancel()
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); status.Code(err) != codes.Canceled {
		t.Errorf("the cancelled call has %v", err)
	}
}

// damaged is a caller's stream with a damaged request.
type damaged struct {
	grpc.ServerStream
	ctx context.Context
}

func (d damaged) Context() context.Context   { return d.ctx }
func (damaged) SendHeader(metadata.MD) error { return nil }
func (damaged) SetTrailer(metadata.MD)       {}
func (damaged) RecvMsg(any) error            { return status.Error(codes.Internal, "damaged") }

// talking is the transport of a call of the method talk.
type talking struct{ grpc.ServerTransportStream }

func (talking) Method() string { return "/test.Talks/Talk" }

// TestDamagedRequest: a request that cannot be read ends the call, and its error is that of the call.
func TestDamagedRequest(t *testing.T) {
	s := start(t)
	must(t, s.publish(t)) // the proxy serves
	err := s.proxy.Handle(damaged{ctx: grpc.NewContextWithServerTransportStream(t.Context(), talking{})})
	if status.Code(err) != codes.Internal || status.Convert(err).Message() != "damaged" {
		t.Errorf("the call has %v", err)
	}
}

// TestMetadata: metadata and the deadline reach the driver, and its header and trailer the caller.
func TestMetadata(t *testing.T) {
	s := start(t)
	for name, call := range map[string]func(context.Context, ...grpc.CallOption) error{
		"traced": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := s.node.NodeUnpublishVolume(ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: "vol-1"}, o...)
			return err
		},
		"untraced": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := s.node.NodeGetVolumeStats(ctx, &spec.NodeGetVolumeStatsRequest{VolumeId: "vol-1"}, o...)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			ctx = metadata.AppendToOutgoingContext(ctx, "key", "one", "key", "two", "key-bin", "\x00\xff")
			var header, trailer metadata.MD
			must(t, call(ctx, grpc.Header(&header), grpc.Trailer(&trailer)))
			if got := header.Get("had"); !slices.Equal(got, []string{"one", "two"}) {
				t.Errorf("the driver had the values %q", got)
			}
			if got := header.Get("had-bin"); !slices.Equal(got, []string{"\x00\xff"}) {
				t.Errorf("the driver had the bytes %q", got)
			}
			if got := trailer.Get("last"); !slices.Equal(got, []string{"trailer"}) {
				t.Errorf("the trailer is %v", got)
			}
			want, _ := ctx.Deadline()
			got, err := time.Parse(time.RFC3339Nano, strings.Join(header.Get("deadline"), ""))
			if err != nil || got.Sub(want).Abs() > 5*time.Second {
				t.Errorf("the driver's deadline is %v, want %v", got, want)
			}
		})
	}
}

// TestSlowDriver: a driver that needs some time for a new connection answers.
func TestSlowDriver(t *testing.T) {
	s := startWith(t, &driver{}, 500*time.Millisecond)
	_, err := s.node.NodeGetVolumeStats(t.Context(), &spec.NodeGetVolumeStatsRequest{VolumeId: "vol-1"})
	must(t, err)
}

// TestForeignSocket: Serve removes neither the driver's socket nor a file.
func TestForeignSocket(t *testing.T) {
	dir := t.TempDir()
	at, file, link := filepath.Join(dir, "csi.sock"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at)
	must(t, err)
	defer func() { _ = l.Close() }()
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink(dir, link))
	proxy, err := csi.New(at, noop.NewTracerProvider())
	must(t, err)
	defer func() { _ = proxy.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, socket := range []string{at, dir + "/./csi.sock", filepath.Join(link, "csi.sock"), file} {
		if err := proxy.Serve(ctx, socket); err == nil {
			t.Errorf("Serve listens on %s", socket)
		}
		if _, err := os.Lstat(socket); err != nil {
			t.Error(err)
		}
	}
}
