// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFindTools(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"runc", "cni/bridge", "cni/host-local", "half/bridge"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	runc, cni := filepath.Join(dir, "runc"), filepath.Join(dir, "cni")
	nowhere := []string{filepath.Join(dir, "nowhere")}
	cases := map[string]struct {
		reason    string
		runc, cni []string
		want      tools
		err       string
	}{
		"All": {
			reason: "the first place that has a tool counts",
			runc:   []string{nowhere[0], runc},
			cni:    []string{nowhere[0], filepath.Join(dir, "half"), cni},
			want:   tools{runc: runc, cniDir: cni},
		},
		"NoRunc": {
			reason: "the missing programs and their packages are one line",
			runc:   nowhere,
			cni:    []string{cni},
			err:    "real nodes need runc: apt-get install runc containernetworking-plugins",
		},
		"HalfThePlugins": {
			reason: "a directory with only one of the two plugins does not do",
			runc:   []string{runc},
			cni:    []string{filepath.Join(dir, "half")},
			err: "real nodes need the CNI plugins bridge and host-local: apt-get install runc " +
				"containernetworking-plugins",
		},
		"Nothing": {
			reason: "both are named",
			runc:   nowhere,
			cni:    nowhere,
			err: "real nodes need runc and the CNI plugins bridge and host-local: apt-get install runc " +
				"containernetworking-plugins",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := findToolsIn(tc.runc, tc.cni)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tc.err, text); diff != "" {
				t.Errorf("\n%s\nerror: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(tools{})); diff != "" {
				t.Errorf("\n%s\ntools: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckWithoutRoot(t *testing.T) {
	checked := make(chan error)
	go func() {
		// The raw call concerns this thread alone, which ends with the goroutine.
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			const nobody = 65534
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				checked <- errno
				return
			}
		}
		checked <- Check()
	}()
	if err := <-checked; !errors.Is(err, ErrNeedsRoot) {
		t.Errorf("got %v, want %v", err, ErrNeedsRoot)
	}
}

func TestLayoutStaysShort(t *testing.T) {
	l := layoutOf("/" + strings.Repeat("a/very/deep/directory/", 20))
	for name, c := range map[string]struct {
		value string
		limit int
	}{
		"socket of containerd":         {l.socket() + ".ttrpc", 107},
		"directory of shims' sockets":  {l.shimSockets(), 42},
		"socket of the kubelet":        {filepath.Join(l.kubeletRoot(), "pod-resources", "kubelet.sock"), 107},
		"name of the bridge interface": {l.bridge(), 15},
	} {
		if len(c.value) > c.limit {
			t.Errorf("%s: %s has %d bytes, more than %d", name, c.value, len(c.value), c.limit)
		}
	}
	if other := layoutOf("/elsewhere"); other.id == l.id {
		t.Errorf("two directories share the id %s", l.id)
	}
}
