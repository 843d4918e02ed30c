// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// sinkVariable makes the test binary a receiver of OTLP. A receiver in the process of a benchmark
// would count as a part of the scheduler.
const sinkVariable = "LIFELINE_TEST_SINK"

func TestMain(m *testing.M) {
	if os.Getenv(sinkVariable) != "" {
		if err := serveSink(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// undecoded discards the requests without decoding them. The work of a receiver would otherwise count
// as time of the scheduling cycle, on the same processors.
type undecoded struct{ encoding.CodecV2 }

func (undecoded) Unmarshal(mem.BufferSlice, any) error { return nil }

// sink is a receiver that discards all spans.
type sink struct {
	collector.UnimplementedTraceServiceServer
}

func (sink) Export(
	context.Context, *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	return &collector.ExportTraceServiceResponse{}, nil
}

// serveSink prints its address and serves until its input ends.
func serveSink() error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(undecoded{encoding.GetCodecV2(proto.Name)}))
	collector.RegisterTraceServiceServer(server, sink{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	fmt.Println(listener.Addr())
	return server.Serve(listener)
}

// startSink runs a receiver in another process until the test's end, and returns its address.
func startSink(tb testing.TB) string {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), os.Args[0])
	command.Env = append(os.Environ(), sinkVariable+"=1")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatalf("the receiver did not start: %v", err)
	}
	return strings.TrimSpace(address)
}
