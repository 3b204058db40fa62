# Targets for development and CI. Each target runs its own set-up; see test/setup/setup.sh.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
NODE := node_modules/.bin/node
SETUP := test/setup/setup.sh
LAB ?= demo
export LAB
export NODE_COMPILE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/isthmus/node
# OVN=25.03: the lab and the tests run that release instead of this machine's own.
ISTHMUS_OVN := $(or $(OVN),$(ISTHMUS_OVN))
export ISTHMUS_OVN
# KUBERNETES=1.30: the same for Kubernetes.
ISTHMUS_KUBERNETES := $(or $(KUBERNETES),$(ISTHMUS_KUBERNETES))
export ISTHMUS_KUBERNETES
# In place of the shell: a signal that make passes on must reach the program.
IN_LAB = ISTHMUS_TOOLS="$$($(SETUP) tools-path)"; export ISTHMUS_TOOLS; exec $(NODE)
# Read by the shell, as a folder's name may mean something to make.
WITH_MODULES = export PATH="$$PWD/node_modules/.bin:$$PATH";

.PHONY: help cli cluster cluster-down cluster-setup test-cluster test-services test-conformance test-policy-conformance test-cyclonus test-cyclonus-25.03 test-images demo test test-all bench bench-node bench-ic bench-bgp bench-services bench-policy bench-edge bench-mcs check generate lab-up lab-down lab-status lab-heal setup ovn-25.03 ovn-23.03 test-25.03 test-gobgpd-3 test-model tools tools-path images clean

help: ## this list
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: setup ## two clusters and a router on this machine, with measured pings between them
	@$(IN_LAB) test/lab/demo.ts

test: setup ## types, lint, unit tests and system tests on real OVN, Kubernetes and FRR
	@exec test/setup/run-tests.sh

# The name of its lab: by default not that of the demo.
CLUSTER_LAB := $(if $(filter file,$(origin LAB)),cluster,$(LAB))
cluster test-cluster cluster-down: export LAB = $(CLUSTER_LAB)
cluster test-cluster: export TOPOLOGY ?= test/lab/topologies/kubelets.yaml

cluster: cluster-setup ## two clusters of machines with kubelets, Isthmus in them by helm install, joined by README's commands
	@$(IN_LAB) test/cluster/main.ts

cluster-down: ## remove the clusters of `make cluster`
	@$(MAKE) -s lab-down

test-cluster: cluster-setup ## scenarios on kubelets (SCENARIOS='install uninstall'; all by default)
	@exec test/setup/test-cluster.sh $(SCENARIOS)

test-services: export LAB = $(if $(filter file,$(origin LAB)),services,$(LAB))
test-services: export TOPOLOGY ?= test/lab/topologies/kubelets-services.yaml
test-services: cluster-setup ## Services on kubelets without kube-proxy, and the changeover from it and back
	@exec test/setup/test-cluster.sh services/clients services/changeover

# FOCUS and SKIP are regular expressions of ginkgo.
test-conformance: export LAB = $(if $(filter file,$(origin LAB)),conformance,$(LAB))
test-conformance: export TOPOLOGY ?= test/lab/topologies/kubelets-single.yaml
test-conformance: cluster-setup ## Kubernetes' network conformance tests on kubelets (FOCUS=regex, SKIP=regex)
	@$(SETUP) conformance
	@ARCHIVES="$$($(SETUP) cache)/images" ENGINE=$(ENGINE) images/build.sh agnhost regression-issue-74839
	@exec test/setup/test-conformance.sh main.ts

# FOCUS and SKIP are regular expressions of names of tests.
test-policy-conformance: export LAB = $(if $(filter file,$(origin LAB)),policies,$(LAB))
test-policy-conformance: export TOPOLOGY ?= test/lab/topologies/kubelets-single.yaml
test-policy-conformance: cluster-setup ## conformance tests of ClusterNetworkPolicy on kubelets (FOCUS=regex, SKIP=regex)
	@$(SETUP) policy-conformance
	@ARCHIVES="$$($(SETUP) cache)/images" ENGINE=$(ENGINE) images/build.sh agnhost
	@exec test/setup/test-conformance.sh policy/main.ts

# FOCUS and SKIP are regular expressions of cases, as the run lists them.
test-cyclonus test-cyclonus-25.03: export LAB = $(if $(filter file,$(origin LAB)),cyclonus,$(LAB))
test-cyclonus: export TOPOLOGY ?= test/lab/topologies/pair.yaml
test-cyclonus: setup ## the 230 cases of Cyclonus for NetworkPolicies (FOCUS=regex, SKIP=regex, OVN=25.03)
	@$(SETUP) cyclonus
	@exec test/setup/test-conformance.sh cyclonus/main.ts

test-cyclonus-25.03:
	@$(MAKE) -s test-cyclonus OVN=25.03

cluster-setup: setup
	@$(SETUP) cluster
	@ARCHIVES="$$($(SETUP) cache)/images" ENGINE=$(ENGINE) images/build.sh isthmus isthmus-ovn coredns

test-all: test test-images test-cluster test-services test-conformance test-policy-conformance test-cyclonus test-25.03 test-cyclonus-25.03 test-gobgpd-3 test-model bench bench-ic bench-bgp bench-services bench-policy bench-edge bench-mcs ## all tests, server tests and Cyclonus also on OVN 25.03, BGP tests on gobgpd 3, a long random run, then the benchmarks

test-25.03: setup ovn-25.03 ## unit tests and system tests on OVN 25.03 and Open vSwitch 3.5
	@ISTHMUS_OVN=25.03 exec test/setup/run-tests.sh without-check

test-gobgpd-3: setup ## system tests of BGP with gobgpd 3 on the nodes
	@$(WITH_MODULES) export ISTHMUS_GOBGPD=3; \
	  $(IN_LAB) --test --test-concurrency=1 test/system/speaker.test.ts 'test/system/bgp/*.test.ts'

test-model: setup ## long random sequences of changes and crashes (SEED=n, STEPS=n)
	@$(WITH_MODULES) export ISTHMUS_MODEL_SEED=$(or $(SEED),$$RANDOM) ISTHMUS_MODEL_STEPS=$(or $(STEPS),1000); \
	  $(IN_LAB) --test --test-concurrency=1 test/system/controller-model.test.ts test/system/lab-services-model.test.ts

bench: setup ## benchmarks in their own labs, each with its floor; rewrites docs/performance.md
	@$(IN_LAB) test/bench/main.ts
	@$(IN_LAB) test/bench/node/main.ts

bench-node: setup ## the second half of bench: cost of the daemon, in a lab of one node
	@$(IN_LAB) test/bench/node/main.ts

bench-ic: setup ovn-23.03 ovn-25.03 ## cost of failures between clusters, in their own labs; rewrites its part of docs/performance.md
	@$(IN_LAB) test/bench/ic/main.ts

bench-mcs: setup ## latency of Services and policies of several clusters, in a lab of its own; rewrites its part of docs/performance.md
	@$(SETUP) cluster; $(IN_LAB) test/bench/mcs/main.ts

bench-bgp: setup ## latency of pod routes to routers, and cost of restarts; rewrites its part of docs/performance.md
	@$(IN_LAB) test/bench/bgp/main.ts

# kube-proxy beside which ours is measured is one of the programs of clusters.
bench-services: setup ovn-25.03 ## cost of Services beside kube-proxy's, with OVN 25.03; rewrites its part of docs/performance.md
	@$(SETUP) cluster
	@export ISTHMUS_OVN=$(or $(ISTHMUS_OVN),25.03); $(IN_LAB) test/bench/services/main.ts

bench-policy: setup ovn-25.03 ## cost of network policies and packets that pass them wrongly, with OVN 25.03; rewrites its part of docs/performance.md
	@export ISTHMUS_OVN=$(or $(ISTHMUS_OVN),25.03); $(IN_LAB) test/bench/policy/main.ts

# The userspace datapath of Open vSwitch 3.1 ends with an assertion when rules go under connections.
bench-edge: setup ovn-25.03 ## cost of thousands of addresses outside and of a gateway node that dies, with OVN 25.03; rewrites its part of docs/performance.md
	@export ISTHMUS_OVN=$(or $(ISTHMUS_OVN),25.03); $(IN_LAB) test/bench/edge/main.ts

check: ## types, lint, format, and whether generated files are up to date
	@$(SETUP) modules
	@$(WITH_MODULES) npm run --silent check
	@$(WITH_MODULES) npm run --silent test:unit

generate: ## OVN table types, CRDs and reference pages from their sources
	@$(SETUP) modules
	@$(WITH_MODULES) npm run --silent generate

lab-up: setup ## start the lab (LAB=name, TOPOLOGY=file.yaml, OVN=25.03, LAB_WITHOUT=room,room)
	@$(IN_LAB) test/lab/main.ts up

lab-down: ## remove the lab
	@if [ -x $(NODE) ]; then $(NODE) test/lab/main.ts down; else echo 'no lab: npm packages were never installed'; fi

lab-status: ## show the state of the lab
	@$(NODE) test/lab/main.ts status

lab-heal: ## restart killed processes of the lab and continue stopped ones
	@$(IN_LAB) test/lab/main.ts heal

setup:
	@$(SETUP) packages modules tools shim $(if $(ISTHMUS_OVN),ovn-$(ISTHMUS_OVN))
	@$(MAKE) -s cli

# Beside kubectl, which finds plug-ins on PATH. All checkouts share the folder; the last installation wins.
cli: ## install isthmus and kubectl-isthmus of this checkout into the folder of tools-path
	@ln -sfn -t "$$($(SETUP) tools-path)" "$$PWD/cli/bin/isthmus" "$$PWD/cli/bin/kubectl-isthmus"

ovn-25.03: ## install OVN 25.03 and Open vSwitch 3.5 of Debian 13 into the cache
	@$(SETUP) $@

# For a machine whose own OVN is newer than the oldest that is supported.
ovn-23.03:
	@$(SETUP) $@

tools: ## build the pinned Go programs into the cache
	@$(SETUP) tools

tools-path: ## print the folder of the pinned Go programs
	@$(SETUP) tools-path

images: ## build both container images with docker, podman or buildah (ENGINE=…; ARCH=arm64; ARCHIVES=folder to save them as files too)
	@ENGINE='$(ENGINE)' ARCH='$(ARCH)' ARCHIVES='$(ARCHIVES)' images/build.sh

test-images: setup ## build both images twice for each architecture: identical bytes, and working programs
	@exec test/setup/test-images.sh

clean: ## remove build output from the checkout
	@rm -rf dist daemon/shim/isthmus-cni
