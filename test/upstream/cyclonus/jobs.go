package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	v1 "k8s.io/api/core/v1"
)

// For an answer that is expected, where the machine is busy, in the first try and in later ones; and for one that is not.
const (
	patience        = 5 * time.Second
	longestPatience = 20 * time.Second
	silence         = time.Second
)

// jobRunner tries all connections of a step at once: those of TCP and UDP by packets to the address of the Service, which the lab has no DNS to find;
// those of SCTP by ovn-trace to the address of the pod. A later try keeps what was as expected: all at once may be too much for a busy machine.
type jobRunner struct {
	cluster  *cluster
	ovn      *ovn
	services map[string]*v1.Service
	places   map[string]place
	expected *probe.Table
	previous *probe.Table
	patience time.Duration
}

// RunJobs implements probe.JobRunner.
func (r *jobRunner) RunJobs(jobs []*probe.Job) []*probe.JobResult {
	results := make([]*probe.JobResult, len(jobs))
	var group sync.WaitGroup
	var sctp []*probe.JobResult
	for index, job := range jobs {
		result := &probe.JobResult{Job: job, Combined: probe.ConnectivityUnknown}
		results[index] = result
		expected := of(r.expected, job).Combined
		switch {
		case r.previous != nil && of(r.previous, job).Combined == expected:
			result.Combined = expected
		case job.Protocol != v1.ProtocolSCTP:
			group.Go(func() { result.Combined = r.connect(job) })
		case job.FromKey != job.ToKey:
			sctp = append(sctp, result)
		}
	}
	r.trace(sctp)
	group.Wait()
	return results
}

func (r *jobRunner) connect(job *probe.Job) probe.Connectivity {
	limit := r.patience
	if of(r.expected, job).Combined == probe.ConnectivityBlocked {
		limit = silence
	}
	address := fmt.Sprintf("%s:%d", r.services[job.ToKey].Spec.ClusterIP, job.ResolvedPort)
	answer, err := connect(r.cluster.netns(job.FromNamespace, job.FromPod), job.Protocol, address, limit)
	switch {
	case err != nil:
		return failed(job, err)
	case answer == "":
		return probe.ConnectivityBlocked
	case answer != job.ToKey:
		return failed(job, fmt.Errorf("%s has answered", answer))
	}
	return probe.ConnectivityAllowed
}

func (r *jobRunner) trace(results []*probe.JobResult) {
	if len(results) == 0 {
		return
	}
	tracer, err := r.ovn.openTracer()
	if err == nil {
		defer tracer.close()
	}
	for _, result := range results {
		job := result.Job
		reaches := false
		if err == nil {
			reaches, err = tracer.reaches(r.places[job.FromKey], r.places[job.ToKey], job.ResolvedPort)
		}
		switch {
		case err != nil:
			result.Combined = failed(job, err)
		case reaches:
			result.Combined = probe.ConnectivityAllowed
		default:
			result.Combined = probe.ConnectivityBlocked
		}
	}
}

// of gives the result of a job in a table.
func of(table *probe.Table, job *probe.Job) *probe.JobResult {
	return table.Get(job.FromKey, job.ToKey).JobResults[(&probe.JobResult{Job: job}).Key()]
}

func failed(job *probe.Job, err error) probe.Connectivity {
	fmt.Fprintf(os.Stderr, "%s to %s at %d/%s: %v\n", job.FromKey, job.ToKey, job.ResolvedPort, job.Protocol, err)
	return probe.ConnectivityCheckFailed
}
