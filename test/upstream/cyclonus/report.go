package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity"
	"github.com/mattfenwick/cyclonus/pkg/generator"
	v1 "k8s.io/api/core/v1"
)

// report counts the cases, and the connections of the last try of each step.
type report struct {
	since            time.Time
	all, ran, steps  int
	repeated, forgot int
	failed           []string
	connections      map[v1.Protocol]*tally
}

type tally struct{ right, wrong int }

func newReport(all int) *report {
	return &report{since: time.Now(), all: all, connections: map[v1.Protocol]*tally{}}
}

func (r *report) add(name string, result *connectivity.Result, took time.Duration) {
	r.ran++
	isPassed := result.Err == nil && result.Passed(false)
	verdict := "passed"
	if !isPassed {
		verdict = "FAILED"
		r.failed = append(r.failed, name)
	}
	more := ""
	for index, step := range result.Steps {
		r.steps++
		again := len(step.KubeProbes) - 1
		if again > 0 {
			r.repeated++
			more += fmt.Sprintf(", step %d tried again %d times", index+1, again)
		}
		if again >= forgetful {
			r.forgot++
		}
		for isRight, counts := range step.LastComparison().ResultsByProtocol() {
			for protocol, count := range counts {
				r.count(protocol, isRight, count)
			}
		}
	}
	fmt.Printf("%s %5.1f s  %s%s\n", verdict, took.Seconds(), name, more)
	if result.Err != nil {
		fmt.Printf("  %v\n", result.Err)
	}
	for index, step := range result.Steps {
		if !step.Passed(false) {
			explain(index+1, step)
		}
	}
}

// explain prints the policies of a step, the connections that should pass, and those that passed in the last try.
func explain(number int, step *connectivity.StepResult) {
	fmt.Printf("step %d:\n", number)
	for _, policy := range step.KubePolicies {
		fmt.Printf("---\n%s", connectivity.PrintNetworkPolicy(policy))
	}
	fmt.Printf("---\nexpected (. passes, X does not, ? was not tried, ! has failed):\n%s", step.SimulatedProbe.RenderTable())
	fmt.Printf("found:\n%s", step.LastKubeProbe().RenderTable())
	fmt.Printf("pairs that differ (X):\n%s", step.LastComparison().RenderSuccessTable())
}

func (r *report) count(protocol v1.Protocol, isRight bool, count int) {
	if r.connections[protocol] == nil {
		r.connections[protocol] = &tally{}
	}
	if isRight {
		r.connections[protocol].right += count
	} else {
		r.connections[protocol].wrong += count
	}
}

// end prints the summary; true if all cases that ran have passed.
func (r *report) end() bool {
	fmt.Printf("\n%d of %d cases passed in %.0f s: %d steps, of which %d were tried again, %d of them without the flows that the datapaths had cached\n",
		r.ran-len(r.failed), r.ran, time.Since(r.since).Seconds(), r.steps, r.repeated, r.forgot)
	if r.ran < r.all {
		fmt.Printf("%d cases of %d were left out by FOCUS and SKIP\n", r.all-r.ran, r.all)
	}
	for _, protocol := range protocols {
		if count := r.connections[protocol]; count != nil {
			fmt.Printf("  %-4s %6d connections as expected, %d not\n", protocol, count.right, count.wrong)
		}
	}
	for _, name := range r.failed {
		fmt.Printf("FAILED %s\n", name)
	}
	return r.ran > 0 && len(r.failed) == 0
}

func sortedTags(testCase *generator.TestCase) []string {
	tags := testCase.Tags.Keys()
	sort.Strings(tags)
	return tags
}
