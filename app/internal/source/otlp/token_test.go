// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// TestToken: with a token file, requests without the token are refused.
func TestToken(t *testing.T) {
	const token = "0123456789abcdef"
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(token+"\n"))
	wire, _ := sample(t, 3)
	var request coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(wire, &request); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		authorization string
		in            bool
	}{
		"none":  {"", false},
		"wrong": {"Bearer fedcba9876543210", false},
		"right": {"Bearer " + token, true},
	} {
		t.Run(name, func(t *testing.T) {
			basket := &basket{}
			endpoint := httpserve.Endpoint{Address: "127.0.0.1:0", TokenFile: file}
			r, stop := started(t, Options{Sink: basket, GRPC: endpoint, HTTP: endpoint})
			post, err := http.NewRequestWithContext(
				t.Context(),
				http.MethodPost,
				"http://"+r.HTTPAddr().String()+DefaultPath,
				bytes.NewReader(wire),
			)
			if err != nil {
				t.Fatal(err)
			}
			post.Header.Set("Content-Type", typeProto)
			if tc.authorization != "" {
				post.Header.Set("Authorization", tc.authorization)
			}
			res, err := client(t).Do(post)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if want := map[bool]int{true: 200, false: 401}[tc.in]; res.StatusCode != want ||
				!tc.in && res.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("HTTP: got %d, want %d", res.StatusCode, want)
			}
			if strings.Contains(string(body), token) {
				t.Errorf("the response repeats the token: %s", body)
			}

			conn, err := grpc.NewClient(r.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx := context.Background()
			if tc.authorization != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", tc.authorization)
			}
			_, err = coltracepb.NewTraceServiceClient(conn).Export(ctx, &request)
			if want := map[bool]codes.Code{true: codes.OK, false: codes.Unauthenticated}[tc.in]; status.Code(
				err,
			) != want {
				t.Errorf("gRPC: got %v, want %v", err, want)
			}
			st := r.Stats()
			spans, twice := basket.has()
			if tc.in && (spans != 3 || twice != 3) || !tc.in && (spans != 0 || st.Refused["unauthenticated"] != 2) {
				t.Errorf("%d spans arrived, refused %v", spans, st.Refused)
			}
			_ = conn.Close()
			stop()
		})
	}
	if _, err := New(
		t.Context(),
		Options{Sink: &basket{}, HTTP: httpserve.Endpoint{Address: "127.0.0.1:0", TokenFile: file + "x"}},
	); err == nil ||
		!strings.Contains(err.Error(), file+"x") {
		t.Errorf("for a missing file got %v", err)
	}
}
