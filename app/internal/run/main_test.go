// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
)

// asCommand makes the test binary the command that lifeline runs.
const asCommand = "LIFELINE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		command(os.Args[1:])
		return
	}
	goleak.VerifyTestMain(m)
}

// command runs the actions in its arguments in order: create=KIND/NAME,
// show=VARIABLE, wait (for a signal), exit=CODE.
func command(args []string) {
	for _, arg := range args {
		verb, what, _ := strings.Cut(arg, "=")
		switch verb {
		case "create":
			kind, name, _ := strings.Cut(what, "/")
			if err := create(kind, name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println("created", what)
		case "show":
			fmt.Println(os.Getenv(what))
		case "wait":
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, syscall.SIGTERM)
			fmt.Println("waiting")
			<-signals
		case "exit":
			code, _ := strconv.Atoi(what)
			os.Exit(code)
		}
	}
}

func create(kind, name string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	resp, err := client.Post(cfg.Host+"/api/v1/namespaces/shop/"+strings.ToLower(
		kind,
	)+"s", "application/json", strings.NewReader(clitest.ObjectJSON(kind, name)))
	if err != nil {
		return err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("cannot create %s: %s", name, resp.Status)
	}
	return nil
}
