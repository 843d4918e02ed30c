// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWrongVariable: the proxy runs with a damaged variable of OpenTelemetry.
func TestWrongVariable(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster")
	dir := t.TempDir()
	socket := filepath.Join(dir, "proxy.sock")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	var log strings.Builder
	go func() {
		ended <- run(ctx, []string{"--driver=unix://" + filepath.Join(dir, "csi.sock"), "--listen=" + socket}, &log)
		stop()
	}()
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_, err = spec.NewNodeClient(connection).NodeGetInfo(ctx, &spec.NodeGetInfoRequest{}, grpc.WaitForReady(true))
	if status.Code(err) != codes.Unavailable { // there is no driver
		t.Errorf("the call has %v", err)
	}
	_ = connection.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the proxy ended with %v", err)
	}
}
