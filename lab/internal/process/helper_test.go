// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleEnv makes the test binary play a program instead of running tests.
const roleEnv = "LAB_PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		goleak.VerifyTestMain(m)
	case "wait": // until it is ended
		fmt.Println("waiting")
		waitForever()
	case "stubborn": // against SIGTERM
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("waiting")
		waitForever()
	case "fail":
		fmt.Println("disk on fire")
		os.Exit(3)
	case "caller", "detached-caller": // starts a child and waits, or leaves
		dir := os.Getenv("LAB_PROCESS_TEST_DIR")
		g := NewGroup(dir, role == "detached-caller")
		p, err := g.Start(play(dir, "child", "wait"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.Pid())
		if role == "caller" {
			waitForever()
		}
	}
}

func waitForever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	<-c
}

// play returns the spec of a program that the test binary plays.
func play(dir, name, role string) Spec {
	return Spec{
		Name: name, Path: os.Args[0], LogFile: filepath.Join(dir, name+".log"),
		Env: []string{roleEnv + "=" + role}, Grace: 200 * time.Millisecond,
	}
}

// startCaller runs a process that starts a child, and returns both.
func startCaller(t *testing.T, dir, role string) (caller *exec.Cmd, child int) {
	t.Helper()
	caller = exec.Command(os.Args[0])
	caller.Env = append(os.Environ(), roleEnv+"="+role, "LAB_PROCESS_TEST_DIR="+dir)
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the caller failed: %s", line)
	}
	return caller, child
}

// logHas is a readiness probe: the process has written the text.
func logHas(path, text string) func(context.Context) error {
	return func(context.Context) error {
		if log := Tail(path); !strings.Contains(log, text) {
			return fmt.Errorf("the log is %q", log)
		}
		return nil
	}
}
