package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// Within which the controller begins to write what a change leads to, and the longest gap in what it writes.
	beginning = time.Second
	gap       = 200 * time.Millisecond
)

// ovn is the OVN of the lab's cluster.
type ovn struct {
	folder  string
	monitor *exec.Cmd
	// What the northbound database has reported so far, in bytes.
	reported atomic.Int64
}

func openOvn(folder string) (*ovn, error) {
	o := &ovn{folder: folder}
	o.monitor = o.command("ovsdb-client", "monitor", "unix:"+filepath.Join(folder, "nb.sock"), "OVN_Northbound", "ALL")
	output, err := o.monitor.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.monitor.Start(); err != nil {
		return nil, err
	}
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			length, err := output.Read(buffer)
			o.reported.Add(int64(length))
			if err != nil {
				return
			}
		}
	}()
	return o, nil
}

func (o *ovn) close() {
	o.monitor.Process.Kill()
	o.monitor.Wait()
}

func (o *ovn) command(program string, arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(o.folder, "bin", program), arguments...)
	command.Stderr = os.Stderr
	return command
}

// changes is a mark for untilWritten.
func (o *ovn) changes() int64 {
	return o.reported.Load()
}

// untilWritten waits until the controller has written what changes of objects since the mark lead to, and the nodes have it.
func (o *ovn) untilWritten(mark int64) error {
	for end := time.Now().Add(beginning); o.changes() == mark && time.Now().Before(end); {
		time.Sleep(interval)
	}
	for seen := int64(-1); seen != o.changes(); {
		seen = o.changes()
		time.Sleep(gap)
	}
	return o.command("ovn-nbctl", "--timeout=60", "--db=unix:"+filepath.Join(o.folder, "nb.sock"), "--wait=hv", "sync").Run()
}

// forgetFlows empties the caches of the datapaths: each flow is made anew from what OVN wants now. The userspace datapath of Open vSwitch 3.1 keeps
// flows whose next step no longer exists, as long as packets use them.
func (o *ovn) forgetFlows() error {
	sockets, err := filepath.Glob(filepath.Join(o.folder, "*", "ovs-vswitchd.ctl"))
	if err != nil {
		return err
	}
	for _, socket := range sockets {
		if err := o.command("ovs-appctl", "--timeout=60", "--target="+socket, "revalidator/purge").Run(); err != nil {
			return err
		}
	}
	return nil
}

// tracer is an ovn-trace that has read the southbound database.
type tracer struct {
	connection net.Conn
	answers    *json.Decoder
}

func (o *ovn) openTracer() (*tracer, error) {
	socket := filepath.Join(o.folder, "trace.ctl")
	os.Remove(socket)
	// It warns of matches that name port groups without ports, which no packet satisfies. Each stage that tracks connections sees a new one.
	flags := []string{"-vconsole:err", "--detach", "--no-chdir", "--ct=new", "--ct=new", "--ct=new", "--ct=new"}
	command := o.command("ovn-trace", append(flags, "--db=unix:"+filepath.Join(o.folder, "sb.sock"), "--unixctl="+socket)...)
	if err := command.Run(); err != nil {
		return nil, err
	}
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &tracer{connection: connection, answers: json.NewDecoder(connection)}, nil
}

func (t *tracer) close() {
	t.ask("exit")
	t.connection.Close()
}

// reaches says whether OVN delivers the first packet of an association of SCTP.
func (t *tracer) reaches(from, to place, port int) (bool, error) {
	flow := fmt.Sprintf(`inport == %q && eth.src == %s && eth.dst == %s && ip4.src == %s && ip4.dst == %s && ip.ttl == 64 && sctp && sctp.src == 40000 && sctp.dst == %d`,
		from.port, from.mac, to.mac, from.ip, to.ip, port)
	answer, err := t.ask("trace", from.logicalSwitch, flow)
	return strings.Contains(answer, fmt.Sprintf("output to %q", to.port)), err
}

func (t *tracer) ask(method string, parameters ...string) (string, error) {
	if parameters == nil {
		parameters = []string{}
	}
	request := map[string]any{"id": 0, "method": method, "params": parameters}
	if err := json.NewEncoder(t.connection).Encode(request); err != nil {
		return "", err
	}
	var answer struct {
		Result string
		Error  any
	}
	if err := t.answers.Decode(&answer); err != nil && err != io.EOF {
		return "", err
	}
	if answer.Error != nil {
		return "", fmt.Errorf("%s: %v", method, answer.Error)
	}
	return answer.Result, nil
}
