// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/internal/gitserver"
)

// gitRepository is the name of the cluster's Git repository.
const gitRepository = "app.git"

// defaultAuthor is the author of a Commit without one.
const defaultAuthor = "Lab <lab@example.com>"

// errNoGitServer is returned by a cluster without a Git repository.
var errNoGitServer = errors.New("the cluster has no Git repository: it was started without the add-ons " +
	string(Flux) + " and " + string(ArgoCD))

// startGit starts the Git server, with an empty repository.
// A running one stays: Flux and Argo CD share it.
func (c *Cluster) startGit(ctx context.Context) error {
	if c.git != "" {
		return nil
	}
	dir := filepath.Join(c.dir, "data", "git")
	if err := gitserver.Init(ctx, filepath.Join(dir, gitRepository)); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		chosen, err := c.choosePorts(1)
		if err != nil {
			return err
		}
		c.git = loopback(chosen[0])
		spec, err := gitserver.Spec(c.git, dir, filepath.Join(c.dir, "log", gitserver.Name+".log"))
		if err != nil {
			return err
		}
		p, err := c.group.Start(spec)
		if err != nil {
			return err
		}
		err = p.WaitReady(ctx, func(ctx context.Context) error { return gitserver.Ready(ctx, c.git) })
		if err == nil {
			return c.saveState() // the repository is known now
		}
		if attempt == portAttempts || !strings.Contains(err.Error(), errPortTaken.Error()) {
			return err
		}
	}
}

// A Commit is a change to the Git repository of a cluster with Flux or Argo CD.
type Commit struct {
	Message string
	// Author is a name and an email address: "Ann <ann@example.com>". Empty
	// means one of the lab's.
	Author string
	// Branch is the branch; empty means main. A new branch begins without files.
	Branch string
	// Files are contents by path, such as "app/web.yaml". An empty content
	// removes the file. Files without an entry stay.
	Files map[string]string
}

// GitURL returns the URL of the cluster's Git repository, to clone from and to
// push to. Its default branch is main. Without Flux and Argo CD it is empty.
func (c *Cluster) GitURL() string {
	if c.git == "" {
		return ""
	}
	return "http://" + c.git + "/" + gitRepository
}

// Commit pushes a commit to the cluster's Git repository and returns its hash.
// It needs the add-on Flux or ArgoCD.
func (c *Cluster) Commit(ctx context.Context, commit Commit) (string, error) {
	return commitTo(ctx, c.GitURL(), commit)
}

// Commit is Cluster.Commit for a cluster that another process started.
func (i Info) Commit(ctx context.Context, commit Commit) (string, error) {
	return commitTo(ctx, i.Git, commit)
}

func commitTo(ctx context.Context, url string, commit Commit) (string, error) {
	if url == "" {
		return "", errNoGitServer
	}
	commit.Author = cmp.Or(commit.Author, defaultAuthor)
	return gitserver.Commit(ctx, url, gitserver.Change(commit))
}
