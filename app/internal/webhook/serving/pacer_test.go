// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// The load of an API server. inFlight is its default limit of concurrent writes
// (--max-mutating-requests-inflight).
const (
	pace     = 1000 // reviews a second
	paced    = 10 * time.Second
	inFlight = 200
)

// pacer is the environment variable that makes this test's program a client.
const pacer = "LIFELINE_TEST_PACER"

// asking is the input of a pacer.
type asking struct {
	URL    string
	CA     []byte // in PEM
	Review []byte
}

// pacing starts a client in a separate process, as an API server is one, and opens its connections.
// The returned function starts the requests. It returns the duration of each from its scheduled
// time, in nanoseconds.
func (s *served) pacing(b *testing.B, review []byte) func() []time.Duration {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	task, err := json.Marshal(asking{URL: "https://" + s.address + "/admission", CA: s.ca.PEM(), Review: review})
	if err != nil {
		b.Fatal(err)
	}
	command := exec.CommandContext(b.Context(), program)
	command.Env = append(os.Environ(), pacer+"=1")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	pipe, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	_, err = in.Write(append(task, '\n'))
	if err == nil {
		_, err = out.ReadString('\n') // wait for its connections
	}
	if err != nil {
		b.Fatalf("the client does not connect: %v, %v", err, command.Wait())
	}
	return func() (took []time.Duration) {
		b.Helper()
		_, begins := in.Write([]byte("\n"))
		reads := json.NewDecoder(out).Decode(&took)
		if err := errors.Join(begins, reads, command.Wait()); err != nil {
			b.Fatalf("the client: %v", err)
		}
		return took
	}
}

// pacerMain is the client's program: see pacing.
func pacerMain() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var a asking
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(a.CA) {
		return errors.New("no certificate authority was given")
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs: trusted, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		},
		MaxIdleConnsPerHost: inFlight,
	}}
	fail := make(chan error, 1)
	one := func() {
		if err := ask(client, a.URL, a.Review); err != nil {
			select {
			case fail <- err:
			default:
			}
		}
	}
	var all sync.WaitGroup
	for range inFlight { // exclude handshakes from the measurement
		all.Go(one)
	}
	all.Wait()
	fmt.Println("connected")
	if _, err := in.ReadByte(); err != nil {
		return err
	}
	took := make([]time.Duration, int(paced.Seconds()*pace))
	turn := make(chan struct{}, inFlight)
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / pace)
		time.Sleep(time.Until(due))
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			one()
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	select {
	case err := <-fail:
		return err
	default:
		return json.NewEncoder(os.Stdout).Encode(took)
	}
}

// ask sends one review, as an API server does.
func ask(client *http.Client, url string, text []byte) error {
	resp, err := client.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"patch"`))) {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}
