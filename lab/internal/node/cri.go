// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeReady reports whether containerd can run Pods, network included.
func (n *Node) runtimeReady(ctx context.Context) error {
	return n.dial(func(conn *grpc.ClientConn) error {
		resp, err := cri.NewRuntimeServiceClient(conn).Status(ctx, &cri.StatusRequest{})
		if err != nil {
			return err
		}
		for _, c := range resp.GetStatus().GetConditions() {
			if !c.GetStatus() && (c.GetType() == cri.RuntimeReady || c.GetType() == cri.NetworkReady) {
				return fmt.Errorf("%s is false: %s %s", c.GetType(), c.GetReason(), c.GetMessage())
			}
		}
		return nil
	})
}

// pullPauseImage pulls the sandbox image ahead of the first Pod, which would
// otherwise be slower than any other.
func (n *Node) pullPauseImage(ctx context.Context) error {
	err := n.dial(func(conn *grpc.ClientConn) error {
		image := &cri.ImageSpec{Image: n.cfg.PauseImage}
		_, err := cri.NewImageServiceClient(conn).PullImage(ctx, &cri.PullImageRequest{Image: image})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot pull the sandbox image %s: %w", n.cfg.PauseImage, err)
	}
	return nil
}

func (n *Node) dial(do func(*grpc.ClientConn) error) error {
	conn, err := grpc.NewClient("unix://"+n.layout.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("cannot reach containerd: %w", err)
	}
	return errors.Join(do(conn), conn.Close())
}
