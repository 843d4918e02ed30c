// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestSlowHoldsNoTurn: unfinished requests do not take the turns of others.
func TestSlowHoldsNoTurn(t *testing.T) {
	sink := &basket{}
	r, _ := started(t, Options{Sink: sink, MaxRequests: 1, Timeout: time.Minute})
	conn, err := net.Dial("tcp", r.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(
		conn,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"+
			"Content-Type: %s\r\nContent-Length: 1000\r\n\r\n",
		DefaultPath,
		typeProto,
	)
	// The status 100 means that the receiver reads the body.
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	calls, err := grpc.NewClient(
		"passthrough:///"+r.GRPCAddr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	if _, err := calls.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, exportMethod); err != nil {
		t.Fatal(err)
	}
	for name, e := range exporters(t, r) {
		export(t, e, name)
		if sink.one(name) == nil {
			t.Errorf("%s: no span arrived", name)
		}
	}
	if got := r.Stats().Refused; got["busy"] != 0 {
		t.Errorf("refused %v", got)
	}
}
