// SPDX-License-Identifier: Apache-2.0

package testimage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kube-lifeline/lifeline/lab/ports"
)

// program builds the test program, once for all runs of the tests.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no user cache folder: ", err)
	}
	path, err := Build(t.Context(), filepath.Join(dir, "lifeline-lab", "test"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramEnds(t *testing.T) {
	path := program(t)
	cases := map[string]struct {
		reason string
		env    []string
		code   int
		output string
	}{
		"LifetimeOver": {
			reason: "LIFETIME ends the program, with code 0 by default",
			env:    []string{"LIFETIME=1ms", "START_DELAY=1h"},
			output: "ending after 1ms with code 0\n",
		},
		"ExitCode": {
			reason: "EXIT_CODE is what the program ends with",
			env:    []string{"LIFETIME=1ms", "EXIT_CODE=3", "START_DELAY=1h"},
			code:   3,
			output: "ending after 1ms with code 3\n",
		},
		"BadDuration": {
			reason: "an invalid environment is reported, every variable by name",
			env:    []string{"LIFETIME=soon", "EXIT_CODE=256"},
			code:   64,
			output: "LIFETIME: \"soon\" is no duration such as 1.5s\nEXIT_CODE: \"256\" is no number from 0 to 255\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), path)
			cmd.Env = tc.env
			out, _ := cmd.CombinedOutput()
			if diff := cmp.Diff(tc.output, string(out)); diff != "" {
				t.Errorf("\n%s\noutput: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.code, cmd.ProcessState.ExitCode()); diff != "" {
				t.Errorf("\n%s\nexit code: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestProgramServesAndStops(t *testing.T) {
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), program(t))
	// Long enough to be asked before it is ready, however slow the machine is.
	cmd.Env = []string{"PORT=" + port, "START_DELAY=50ms", "READY_DELAY=3s", "TERM_DELAY=200ms"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first line reports the listener.
	if _, err := io.ReadAtLeast(out, make([]byte, 256), len("listening on")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, port); got != http.StatusServiceUnavailable {
		t.Errorf("readiness right after the start: got %d, want 503", got)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for get(t, port) != http.StatusOK {
		<-tick.C
	}
	if took := time.Since(began); took < 3050*time.Millisecond {
		t.Errorf("ready %s after its start, want 3050ms at least", took)
	}
	asked := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopping: got %v, want code 0", err)
	}
	if took := time.Since(asked); took < 200*time.Millisecond {
		t.Errorf("stopped after %s, want 200ms at least", took)
	}
}

func TestNew(t *testing.T) {
	path := program(t)
	const padding = 1 << 20
	small := image(t, path, Spec{})
	padded := image(t, path, Spec{Padding: padding, Seed: 1, Env: []string{"PORT=8080"}})
	again := image(t, path, Spec{Padding: padding, Seed: 1, Env: []string{"PORT=8080"}})
	other := image(t, path, Spec{Padding: padding, Seed: 2})

	if diff := cmp.Diff(digest(t, padded), digest(t, again)); diff != "" {
		t.Errorf("the same Spec must give the same image: -want +got:\n%s", diff)
	}
	layers, otherLayers := layerDigests(t, padded), layerDigests(t, other)
	if diff := cmp.Diff(layerDigests(t, small)[0], layers[0]); diff != "" {
		t.Errorf("all images must share the program's layer: -want +got:\n%s", diff)
	}
	if layers[1] == otherLayers[1] {
		t.Error("paddings of different seeds must differ")
	}
	ls, _ := padded.Layers()
	if size, err := ls[1].Size(); err != nil || size < padding || size > padding+64<<10 {
		t.Errorf("compressed padding: got %d bytes, error %v; want about %d", size, err, padding)
	}
	file, err := padded.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/app"}, Env: []string{"PORT=8080"}}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("config: -want +got:\n%s", diff)
	}
}

func TestNewAroundAnotherProgram(t *testing.T) {
	own, other := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "other")
	for path, text := range map[string]string{own: "own", other: "other"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := digest(t, image(t, own, Spec{Program: other})), digest(t, image(t, other, Spec{})); got != want {
		t.Errorf("the image must hold Spec.Program: got %s, want %s", got, want)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := Build(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "cannot build the test program") {
		t.Errorf("got %v, want an error that names what cannot be built", err)
	}
}

func image(t *testing.T, path string, spec Spec) v1.Image {
	t.Helper()
	img, err := New(path, spec)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func layerDigests(t *testing.T, img v1.Image) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, l := range layers {
		d, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d.String())
	}
	return digests
}

func freePort(t *testing.T) string {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(free[0])
}

func get(t *testing.T, port string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%s/ready", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
